// SPDX-License-Identifier: Apache-2.0
#include "worker/executor/rank.h"

#include <utility>

#include "absl/strings/str_cat.h"
#include "base/status.h"

namespace shoal::worker {
namespace {

// Steps whose sampled rows a TokenRef may name; more plans than that are never in flight.
constexpr size_t kSampledSteps = 16;

scheduler::TokenOutput ToOutput(const kernels::SampledToken& sampled, bool with_logprob) {
  scheduler::TokenOutput output{.token = sampled.token,
                                .has_logprob = with_logprob,
                                .logprob = with_logprob ? sampled.logprob : 0.0f,
                                .rank = with_logprob ? sampled.rank : 0,
                                .top = {}};
  output.top.reserve(sampled.top.size());
  for (const kernels::TokenLogprob& top : sampled.top) {
    output.top.push_back({.token = top.token, .logprob = top.logprob});
  }
  return output;
}

}  // namespace

Rank::Rank(const RankParts& parts)
    : parts_(parts),
      sequences_(parts.pools, parts.decoder->spec().vocab_size),
      inputs_(parts.pools) {}

absl::StatusOr<scheduler::StepResult> Rank::Execute(const scheduler::StepPlan& plan) {
  if (plan.step.value() != last_step_.value() + 1) {
    return absl::InternalError(absl::StrCat("rank ", parts_.topology.rank(),
                                            " got the plan of step ", plan.step.value(),
                                            " but expected step ", last_step_.value() + 1));
  }
  last_step_ = plan.step;
  SHOAL_RETURN_IF_ERROR(sequences_.Update(plan));
  if (sampled_.size() == kSampledSteps) sampled_.pop_front();
  sampled_.push_back({.step = plan.step, .rows = {}});
  scheduler::StepResult result{.step = plan.step, .sequences = {}};
  for (const scheduler::SubPlan& sub_plan : plan.sub_plans) {
    if (sub_plan.data_rank != parts_.topology.data_rank() || sub_plan.slices.empty()) continue;
    SHOAL_RETURN_IF_ERROR(RunSlices(sub_plan.slices, &result));
  }
  return result;
}

absl::Status Rank::CheckReferences(std::span<const scheduler::Slice> slices) const {
  for (const scheduler::Slice& slice : slices) {
    if (!slice.input.has_value()) continue;
    const scheduler::TokenRef& ref = *slice.input;
    bool found = false;
    for (auto it = sampled_.rbegin(); it != sampled_.rend() && !found; ++it) {
      if (it->step != ref.step) continue;
      found = ref.row >= 0 && ref.row < static_cast<int32_t>(it->rows.size()) &&
              it->rows[static_cast<size_t>(ref.row)].sequence == slice.sequence &&
              it->rows[static_cast<size_t>(ref.row)].position == slice.first_position;
    }
    if (!found) {
      return absl::InternalError(
          absl::StrCat("slice of sequence ", slice.sequence.value(), " at position ",
                       slice.first_position, " refers to row ", ref.row, " of step ",
                       ref.step.value(), ", which did not sample that token"));
    }
  }
  return absl::OkStatus();
}

absl::Status Rank::RunSlices(std::span<const scheduler::Slice> slices,
                             scheduler::StepResult* result) {
  SHOAL_RETURN_IF_ERROR(CheckReferences(slices));
  SHOAL_RETURN_IF_ERROR(inputs_.Build(slices, sequences_));
  absl::StatusOr<kernels::Tensor> logits =
      parts_.decoder->Forward(*parts_.stream, inputs_.forward());
  if (!logits.ok()) {
    return Annotate(logits.status(), absl::StrCat("forward of step ", last_step_.value()));
  }
  std::vector<kernels::SampledToken> sampled;
  if (inputs_.wants_logits()) {
    sampled = parts_.sampling->Sample(*parts_.stream, *logits, inputs_.sample_rows());
  }
  SHOAL_RETURN_IF_ERROR(parts_.stream->Synchronize());
  return Collect(slices, sampled, result);
}

absl::Status Rank::Collect(std::span<const scheduler::Slice> slices,
                           const std::vector<kernels::SampledToken>& sampled,
                           scheduler::StepResult* result) {
  SHOAL_CHECK(sampled.size() == inputs_.sample_rows().size());
  size_t next = 0;
  std::vector<SampledRow>& rows = sampled_.back().rows;
  for (size_t i = 0; i < slices.size(); ++i) {
    const scheduler::Slice& slice = slices[i];
    const SliceRows& wanted = inputs_.slice_rows()[i];
    SHOAL_ASSIGN_OR_RETURN(SequenceState * state, sequences_.Find(slice.sequence));
    scheduler::SequenceResult& out = result->sequences.emplace_back();
    out.sequence = slice.sequence;
    out.prompt_first = wanted.prompt_first;
    for (int32_t p = 0; p < wanted.prompt_count; ++p) {
      out.prompt.push_back(ToOutput(sampled[next++], true));
    }
    if (!wanted.draw) continue;
    out.tokens.push_back(ToOutput(sampled[next++], state->sampling.logprobs >= 0));
    if (slice.sample_row != static_cast<int32_t>(rows.size())) {
      return absl::InternalError(absl::StrCat("step ", last_step_.value(), " numbers sampled row ",
                                              rows.size(), " as ", slice.sample_row));
    }
    rows.push_back(
        {.sequence = slice.sequence, .position = static_cast<int32_t>(state->tokens.size())});
    state->Append(out.tokens.back().token);
  }
  return absl::OkStatus();
}

}  // namespace shoal::worker
