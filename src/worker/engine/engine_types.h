// SPDX-License-Identifier: Apache-2.0
// The values that cross between the front end and the engine.
#pragma once

#include <algorithm>
#include <cstdint>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/time/time.h"
#include "base/strong_id.h"
#include "scheduler/scheduler.h"
#include "scheduler/types/request.h"
#include "scheduler/types/step_result.h"

namespace shoal::worker {

// A router's stream, unique within a worker's life.
using StreamId = StrongId<struct StreamTag>;

// Whose sequence it is: how the router names it on its stream.
struct Ticket {
  StreamId stream;
  uint64_t client_sequence = 0;
  uint32_t attempt = 0;
};

struct Submission {
  Ticket ticket;
  // `arrival` is set by the engine; `deadline` too, from `time_left`.
  scheduler::Request request;
  absl::Duration time_left = absl::InfiniteDuration();
};

// Growth of one sequence, addressed.
struct EngineDelta {
  Ticket ticket;
  scheduler::Delta delta;
  // With FinishReason::kError: what kind. `rejected`: the sequence never ran and is not counted.
  absl::StatusCode error_code = absl::StatusCode::kOk;
  bool rejected = false;
};

// What the engine says of itself.
struct EngineLoad {
  uint64_t steps = 0;  // executed, counting self-checks
  scheduler::SchedulerStats stats;
  double tokens_per_second = 0;  // while there was work, decaying
  int64_t accepted = 0;
  int64_t ended = 0;
  bool draining = false;
  bool idle = true;      // no live sequence and no step in flight
  absl::Status failure;  // why the ranks stopped; OK while they run
  // Since when there has been work without a completed step; InfiniteFuture while idle.
  absl::Time waiting_since = absl::InfiniteFuture();

  // Zero when idle.
  absl::Duration StalledFor(absl::Time now) const { return Age(waiting_since, now); }
  // Age of the oldest waiting request; zero when none waits.
  absl::Duration OldestWaiting(absl::Time now) const { return Age(stats.oldest_waiting, now); }

 private:
  static absl::Duration Age(absl::Time since, absl::Time now) {
    if (since == absl::InfiniteFuture()) return absl::ZeroDuration();
    return std::max(now - since, absl::ZeroDuration());
  }
};

// Receives what sequences emit. Called by the engine's thread; must not block.
class DeltaSink {
 public:
  virtual ~DeltaSink() = default;
  // All growth of one stream's sequences in a turn of the engine. A stream that has ended may
  // still be named.
  virtual void Deliver(StreamId stream, std::vector<EngineDelta> deltas) = 0;
  // `draining` or `failure` of the load has changed.
  virtual void OnConditionChanged() = 0;
};

}  // namespace shoal::worker
