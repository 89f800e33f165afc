// SPDX-License-Identifier: Apache-2.0
#include "worker/executor/step_inputs.h"

#include <algorithm>

#include "absl/strings/str_cat.h"
#include "base/status.h"

namespace shoal::worker {
namespace {

absl::Status CheckSlice(const scheduler::Slice& slice, const SequenceState& state) {
  const auto held = static_cast<int64_t>(state.tokens.size());
  const int64_t end = int64_t{slice.first_position} + slice.count;
  if (slice.count < 1 || slice.first_position < 0 || end > held) {
    return absl::InternalError(absl::StrCat("slice of sequence ", slice.sequence.value(),
                                            " covers positions [", slice.first_position, ", ", end,
                                            "), but this rank holds ", held, " tokens of it"));
  }
  if (slice.sample && end != held) {
    return absl::InternalError(absl::StrCat("slice of sequence ", slice.sequence.value(),
                                            " samples position ", end, ", but this rank holds ",
                                            held, " tokens of it"));
  }
  return absl::OkStatus();
}

}  // namespace

StepInputs::StepInputs(std::span<const kernels::KvPool> pools) : pools_(pools) {
  batches_.resize(pools.size());
}

absl::Status StepInputs::Build(std::span<const scheduler::Slice> slices, SequenceTable& sequences) {
  tokens_.clear();
  positions_.clear();
  logits_rows_.clear();
  sample_rows_.clear();
  slice_rows_.clear();
  for (kernels::AttentionBatch& batch : batches_) batch.sequences.clear();
  for (const scheduler::Slice& slice : slices) {
    SHOAL_ASSIGN_OR_RETURN(const SequenceState* state, sequences.Find(slice.sequence));
    SHOAL_RETURN_IF_ERROR(CheckSlice(slice, *state));
    SHOAL_RETURN_IF_ERROR(AddToBatches(slice, *state));
    const auto first_row = static_cast<int32_t>(tokens_.size());
    AddRows(slice, *state);
    AddSampling(slice, *state, first_row);
  }
  for (kernels::AttentionBatch& batch : batches_) {
    batch.rows = static_cast<int64_t>(tokens_.size());
  }
  return absl::OkStatus();
}

model::ForwardInput StepInputs::forward() const {
  return {.tokens = tokens_,
          .positions = positions_,
          .batches = batches_,
          .pools = pools_,
          .logits_rows = logits_rows_};
}

void StepInputs::AddRows(const scheduler::Slice& slice, const SequenceState& state) {
  const auto begin = state.tokens.begin() + slice.first_position;
  tokens_.insert(tokens_.end(), begin, begin + slice.count);
  for (int32_t i = 0; i < slice.count; ++i) positions_.push_back(slice.first_position + i);
}

absl::Status StepInputs::AddToBatches(const scheduler::Slice& slice, const SequenceState& state) {
  for (size_t group = 0; group < pools_.size(); ++group) {
    const std::vector<scheduler::BlockId>& table = state.block_tables[group];
    const int64_t covered = static_cast<int64_t>(table.size()) * pools_[group].layout.block_tokens;
    const int64_t end = int64_t{slice.first_position} + slice.count;
    if (covered < end) {
      return absl::InternalError(
          absl::StrCat("slice of sequence ", slice.sequence.value(), " ends at position ", end,
                       ", but its blocks of KV group ", group, " cover ", covered, " tokens"));
    }
    batches_[group].sequences.push_back({.first_row = static_cast<int64_t>(tokens_.size()),
                                         .rows = slice.count,
                                         .first_position = slice.first_position,
                                         .block_table = table});
  }
  return absl::OkStatus();
}

void StepInputs::AddSampling(const scheduler::Slice& slice, const SequenceState& state,
                             int32_t first_row) {
  const scheduler::SamplingParams& sampling = state.sampling;
  SliceRows rows;
  if (slice.logits == scheduler::Logits::kAll) {
    // The row at position p scores the token at p + 1, as long as that is the client's prompt.
    rows.prompt_first = slice.first_position + 1;
    rows.prompt_count =
        std::clamp(state.prompt_tokens - rows.prompt_first, int32_t{0}, slice.count);
    for (int32_t i = 0; i < rows.prompt_count; ++i) {
      const int32_t position = rows.prompt_first + i;
      WantLogits(first_row + i, {.draw = false,
                                 .given_token = state.tokens[static_cast<size_t>(position)],
                                 .position = position,
                                 .logprobs = std::max(sampling.prompt_logprobs, int32_t{0})});
    }
  }
  if (slice.sample) {
    rows.draw = true;
    WantLogits(first_row + slice.count - 1, {.temperature = sampling.temperature,
                                             .top_k = sampling.top_k,
                                             .top_p = sampling.top_p,
                                             .min_p = sampling.min_p,
                                             .seed = sampling.seed,
                                             .choice = sampling.choice,
                                             .position = slice.first_position + slice.count,
                                             .logprobs = sampling.logprobs,
                                             .adjustment = state.Adjustment()});
  }
  slice_rows_.push_back(rows);
}

void StepInputs::WantLogits(int32_t row, kernels::SampleRow sample) {
  // A row may be scored and drawn from: it is computed once.
  if (logits_rows_.empty() || logits_rows_.back() != row) logits_rows_.push_back(row);
  sample.logits_row = static_cast<int64_t>(logits_rows_.size()) - 1;
  sample_rows_.push_back(sample);
}

}  // namespace shoal::worker
