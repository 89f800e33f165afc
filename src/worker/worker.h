// SPDX-License-Identifier: Apache-2.0
// Worker: one replica's leader with its ranks in this process: gRPC front end, engine thread, rank
// threads.
#pragma once

#include <cstdint>
#include <memory>
#include <string>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/time/time.h"
#include "base/config/cluster_config.h"

namespace shoal::worker {

struct WorkerOptions {
  std::string model_name;  // the name clients use
  std::string model_path;
  config::ReplicaConfig replica;
  config::DeadlineConfig deadlines;
  config::Endpoint listen;    // port 0: chosen by the system
  std::string cluster_token;  // empty: none required
};

// Thread-safe.
class Worker {
 public:
  virtual ~Worker() = default;  // stops without draining
  // The address that is listened on, with its real port.
  virtual config::Endpoint endpoint() const = 0;
  // Counts executed steps and, while idle, self-checks of the rank: it grows as long as the worker
  // makes progress.
  virtual int64_t steps() const = 0;
  // Stops admitting, waits until every sequence has ended or `timeout` passed, then stops. OK when
  // accepted == ended and all KV blocks are free again.
  virtual absl::Status Drain(absl::Duration timeout) = 0;
  // Waits until a rank has failed and returns why, or OK after `timeout`. A failed worker has ended
  // its sequences with an error and admits none: its process is to be replaced.
  virtual absl::Status AwaitFailure(absl::Duration timeout) = 0;
};

// Loads the model and serves. Errors name the key to change when memory does not suffice.
absl::StatusOr<std::unique_ptr<Worker>> StartWorker(const WorkerOptions& options);

}  // namespace shoal::worker
