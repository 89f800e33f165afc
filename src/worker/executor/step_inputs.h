// SPDX-License-Identifier: Apache-2.0
// StepInputs: turns the slices of one micro-batch into what Decoder::Forward and SamplingOps take.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "absl/status/status.h"
#include "kernels/attention.h"
#include "kernels/sampling.h"
#include "model/decoder.h"
#include "scheduler/types/step_plan.h"
#include "worker/executor/sequence_table.h"

namespace shoal::worker {

// Which of a slice's rows ask something of the sampler: first its prompt tokens, then its draw.
struct SliceRows {
  int32_t prompt_first = 0;  // position of the first prompt token that is scored
  int32_t prompt_count = 0;
  bool draw = false;
};

// Reused from step to step, so that a steady step allocates nothing. Owned by the rank's thread.
class StepInputs {
 public:
  explicit StepInputs(std::span<const kernels::KvPool> pools);

  // Builds everything for these slices. INTERNAL when a slice does not fit what `sequences` holds:
  // tokens it does not have, or blocks that do not cover its positions. The result points into
  // `sequences` and is valid until that changes.
  absl::Status Build(std::span<const scheduler::Slice> slices, SequenceTable& sequences);

  model::ForwardInput forward() const;
  bool wants_logits() const { return !sample_rows_.empty(); }
  // One per wanted logits row, slices in order; logits_row counts within the Forward's result.
  std::span<const kernels::SampleRow> sample_rows() const { return sample_rows_; }
  // One per slice.
  std::span<const SliceRows> slice_rows() const { return slice_rows_; }

 private:
  void AddRows(const scheduler::Slice& slice, const SequenceState& state);
  absl::Status AddToBatches(const scheduler::Slice& slice, const SequenceState& state);
  void AddSampling(const scheduler::Slice& slice, const SequenceState& state, int32_t first_row);
  void WantLogits(int32_t row, kernels::SampleRow sample);

  const std::span<const kernels::KvPool> pools_;
  std::vector<int32_t> tokens_;
  std::vector<int32_t> positions_;
  std::vector<kernels::AttentionBatch> batches_;  // one per KV group
  std::vector<int32_t> logits_rows_;
  std::vector<kernels::SampleRow> sample_rows_;
  std::vector<SliceRows> slice_rows_;
};

}  // namespace shoal::worker
