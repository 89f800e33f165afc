// SPDX-License-Identifier: Apache-2.0
// Communicator: collectives among the ranks of one group. Every call has the group's deadline; a
// peer that does not come makes the call fail with the rank, operation and sequence number named.
#pragma once

#include <cstdint>
#include <memory>
#include <span>

#include "absl/status/status.h"
#include "absl/time/time.h"

namespace shoal::parallel {

using Bytes = std::span<uint8_t>;
using ConstBytes = std::span<const uint8_t>;

// One thread calls the collectives; Abort may come from any thread. All ranks make the same calls
// in the same order.
class Communicator {
 public:
  virtual ~Communicator() = default;
  virtual int32_t rank() const = 0;
  virtual int32_t size() const = 0;
  // out holds size() pieces of in.size() bytes, in rank order.
  virtual absl::Status AllGather(ConstBytes in, Bytes out) = 0;
  // in holds size() float32 pieces; out is this rank's piece, summed in rank order.
  virtual absl::Status ReduceScatter(std::span<const float> in, std::span<float> out) = 0;
  // Piece i of `in` (send_counts[i] bytes) goes to rank i; `out` receives recv_counts[i] from i.
  virtual absl::Status AllToAllV(ConstBytes in, std::span<const int64_t> send_counts, Bytes out,
                                 std::span<const int64_t> recv_counts) = 0;
  virtual absl::Status Broadcast(Bytes data, int32_t root) = 0;
  virtual absl::Status Send(ConstBytes data, int32_t to) = 0;
  virtual absl::Status Receive(Bytes data, int32_t from) = 0;
  // Every pending and later call of this group returns ABORTED with `reason`.
  virtual void Abort(absl::string_view reason) = 0;
};

// The communicator of a group of one: copies.
std::unique_ptr<Communicator> CreateSingleRankCommunicator();

}  // namespace shoal::parallel
