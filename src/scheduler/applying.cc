// SPDX-License-Identifier: Apache-2.0
// Applying: what a step's results change. Results of a preempted sequence count like any other's
// (its steps ran before its removal); those of an ended one are dropped.
#include <algorithm>

#include "base/check.h"
#include "scheduler/scheduler_impl.h"

namespace shoal::scheduler {

Applied SchedulerImpl::Apply(const StepResult& result, absl::Time now) {
  SHOAL_CHECK(!in_flight_.empty());
  SHOAL_CHECK(in_flight_.front().step == result.step);
  const StepInFlight step = std::move(in_flight_.front());
  in_flight_.pop_front();
  size_t next = 0;
  for (const SliceInFlight& slice : step.slices) {
    const SequenceResult* reported = nullptr;
    if (next < result.sequences.size() && result.sequences[next].sequence == slice.sequence)
      reported = &result.sequences[next++];
    ApplySlice(slice, reported);
  }
  SHOAL_CHECK(next == result.sequences.size());
  return TakePending();
}

void SchedulerImpl::ApplySlice(const SliceInFlight& slice, const SequenceResult* result) {
  Sequence* const found = Find(slice.sequence);
  SHOAL_CHECK(found != nullptr);
  SHOAL_CHECK(result != nullptr || !slice.reports);
  Sequence& sequence = *found;
  SHOAL_CHECK(sequence.steps_in_flight > 0);
  --sequence.steps_in_flight;
  if (slice.sample) --sequence.samples_in_flight;
  SHOAL_CHECK(sequence.samples_in_flight >= 0);
  SHOAL_CHECK(sequence.applied == slice.first);
  sequence.applied = slice.first + slice.count;
  StoreBlocks(sequence);

  if (sequence.state == SequenceState::kEnded) {
    ++counters_.dropped_results;
    if (sequence.steps_in_flight == 0) FinishDraining(sequence);
    return;
  }
  Delta delta = EmptyDelta(sequence);
  if (result != nullptr) {
    SHOAL_CHECK(result->tokens.size() == (slice.sample ? 1U : 0U));
    ApplyPrompt(sequence, *result, delta);
    ApplyTokens(sequence, *result, delta);
  }
  SHOAL_CHECK(sequence.prompt_delivered >= slice.prompt_end);
  WakeSiblings(sequence);
  for (int32_t group = 0; group < cache_.groups(); ++group)
    cache_.ReleaseBefore(group, sequence.applied, sequence.tables[group]);
  if (const auto reason = FinishOf(sequence); reason.has_value()) {
    End(sequence, *reason, std::move(delta));
    return;
  }
  if (!delta.tokens.empty() || !delta.prompt.empty()) deltas_.push_back(std::move(delta));
  if (sequence.state == SequenceState::kWaiting && sequence.steps_in_flight == 0)
    FinishDraining(sequence);
}

void SchedulerImpl::ApplyTokens(Sequence& sequence, const SequenceResult& result, Delta& delta) {
  for (const TokenOutput& output : result.tokens) {
    SHOAL_CHECK(static_cast<int32_t>(sequence.tokens.size()) < sequence.tokens_limit);
    sequence.tokens.push_back(output.token);
    delta.tokens.push_back(output);
    if (sequence.state == SequenceState::kWaiting) ++counters_.queued_tokens;
    if (sequence.state == SequenceState::kRunning) ++counters_.running_tokens;
  }
}

void SchedulerImpl::ApplyPrompt(Sequence& sequence, const SequenceResult& result, Delta& delta) {
  if (!sequence.wants_prompt_logprobs() || result.prompt.empty()) return;
  SHOAL_CHECK(result.prompt_first >= 1);
  SHOAL_CHECK(result.prompt_first <= sequence.prompt_delivered);
  const auto end = result.prompt_first + static_cast<int32_t>(result.prompt.size());
  SHOAL_CHECK(end <= sequence.request.prompt_tokens);
  // What was delivered before a preemption is not delivered again.
  for (; sequence.prompt_delivered < end; ++sequence.prompt_delivered)
    delta.prompt.push_back(result.prompt[sequence.prompt_delivered - result.prompt_first]);
}

std::optional<FinishReason> SchedulerImpl::FinishOf(const Sequence& sequence) const {
  const auto known = static_cast<int32_t>(sequence.tokens.size());
  const bool emitted = known > sequence.request.prompt_tokens;
  const std::vector<TokenId>& stops = sequence.request.stop.stop_token_ids;
  if (emitted && std::ranges::find(stops, sequence.tokens.back()) != stops.end())
    return FinishReason::kStop;
  if (known < sequence.tokens_limit) return std::nullopt;
  if (!emitted && sequence.applied < known) return std::nullopt;  // a prompt being scored
  return FinishReason::kLength;
}

void SchedulerImpl::StoreBlocks(Sequence& sequence) {
  if (!options_.prefix_cache) return;
  // The last tokens of an ended sequence may have been dropped.
  const int32_t known = std::min(sequence.applied, static_cast<int32_t>(sequence.tokens.size()));
  const int32_t full = known / options_.block_tokens;
  if (full <= sequence.stored_blocks) return;
  sequence.HashBlocks(full, options_.block_tokens);
  for (; sequence.stored_blocks < full; ++sequence.stored_blocks)
    cache_.Store(sequence.hashed(), sequence.stored_blocks, sequence.tables);
}

void SchedulerImpl::WakeSiblings(const Sequence& sequence) {
  if (sequence.request.group_key == 0) return;
  if (!sequence.PromptBlocksApplied(options_.block_tokens)) return;
  for (Sequence* sibling : siblings_.Cached(sequence)) {
    CountWaiting(*sibling, -1);
    Enqueue(*sibling);
  }
}

}  // namespace shoal::scheduler
