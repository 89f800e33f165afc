// SPDX-License-Identifier: Apache-2.0
// Rank: executes step plans on one rank's weight shard and KV bytes.
#pragma once

#include <cstdint>
#include <deque>
#include <span>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "kernels/backend.h"
#include "model/decoder.h"
#include "parallel/topology.h"
#include "scheduler/types/step_plan.h"
#include "scheduler/types/step_result.h"
#include "worker/executor/sequence_table.h"
#include "worker/executor/step_inputs.h"

namespace shoal::worker {

// What a rank works with. Everything outlives it, and the stream is used by nobody else.
struct RankParts {
  parallel::Topology topology{parallel::Layout{}, 0};
  model::Decoder* decoder = nullptr;
  kernels::SamplingOps* sampling = nullptr;
  kernels::Stream* stream = nullptr;
  std::span<const kernels::KvPool> pools;
};

// Owned by one thread.
class Rank {
 public:
  explicit Rank(const RankParts& parts);

  // Applies the plan and runs its slices of this data rank. Plans come with step numbers 1, 2, ...;
  // another number is an error that shows both. A sampled token joins its sequence at once, so the
  // next plan may name it with a TokenRef before the result was applied. After an error the rank's
  // state is undefined and it must not be used again.
  absl::StatusOr<scheduler::StepResult> Execute(const scheduler::StepPlan& plan);

  int64_t sequences() const { return sequences_.size(); }

 private:
  // Where the sampled rows of a step went.
  struct SampledRow {
    scheduler::SequenceId sequence;
    int32_t position = 0;  // of the token
  };
  struct SampledStep {
    scheduler::StepNumber step;
    std::vector<SampledRow> rows;
  };

  absl::Status CheckReferences(std::span<const scheduler::Slice> slices) const;
  absl::Status RunSlices(std::span<const scheduler::Slice> slices, scheduler::StepResult* result);
  absl::Status Collect(std::span<const scheduler::Slice> slices,
                       const std::vector<kernels::SampledToken>& sampled,
                       scheduler::StepResult* result);

  const RankParts parts_;
  SequenceTable sequences_;
  StepInputs inputs_;
  scheduler::StepNumber last_step_;
  std::deque<SampledStep> sampled_;  // the latest steps, the newest last
};

}  // namespace shoal::worker
