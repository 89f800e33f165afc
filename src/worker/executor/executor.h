// SPDX-License-Identifier: Apache-2.0
// Executor: carries plans to the ranks of a replica and their results back, asynchronously. The
// engine decides what runs; an executor never chooses.
#pragma once

#include <cstdint>

#include "absl/status/status.h"
#include "scheduler/types/step_plan.h"
#include "scheduler/types/step_result.h"

namespace shoal::worker {

// What came of one Execute or Ping.
struct StepReport {
  // Not OK: the ranks have failed and execute nothing any more; no other report follows.
  absl::Status status;
  scheduler::StepResult result;  // of a plan
  bool self_check = false;       // the answer to a Ping
};

// Where reports go, called by the executor's threads. Must not block.
class StepSink {
 public:
  virtual ~StepSink() = default;
  virtual void OnStep(StepReport report) = 0;
};

// Called by the engine thread only.
class Executor {
 public:
  virtual ~Executor() = default;  // stops, waiting for a step that is running
  // Called once, before anything else. `sink` outlives the executor.
  virtual void Start(StepSink& sink) = 0;
  // Runs the plan behind those before it. An error means that it will not be run or reported.
  virtual absl::Status Execute(const scheduler::StepPlan& plan) = 0;
  // Goes the way of a plan but runs nothing: proves that the ranks answer.
  virtual absl::Status Ping() = 0;
};

}  // namespace shoal::worker
