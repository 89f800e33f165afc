// SPDX-License-Identifier: Apache-2.0
// ControlChannel: carries each step's plan from the leader to every rank of the replica, as bytes.
#pragma once

#include <cstdint>
#include <memory>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/time/time.h"
#include "parallel/communicator.h"

namespace shoal::parallel {

// Publish is called by the leader's engine thread, Next by each rank's own thread.
class ControlChannel {
 public:
  virtual ~ControlChannel() = default;
  // RESOURCE_EXHAUSTED when the channel's bound of unread messages is reached.
  virtual absl::Status Publish(std::vector<uint8_t> message) = 0;
  // The next message; DEADLINE_EXCEEDED after `timeout`, CANCELLED once closed and drained.
  virtual absl::StatusOr<std::vector<uint8_t>> Next(absl::Duration timeout) = 0;
  virtual void Close() = 0;
};

// Leader and rank are threads of one process.
std::unique_ptr<ControlChannel> CreateLocalControlChannel(size_t messages_max);

}  // namespace shoal::parallel
