// SPDX-License-Identifier: Apache-2.0
// Planning: one step's slices. Decodes first, then prompts share what is left of the token budget.
#include <algorithm>
#include <tuple>

#include "base/check.h"
#include "scheduler/scheduler_impl.h"
#include "scheduler/token_budget.h"

namespace shoal::scheduler {

StepPlan SchedulerImpl::Plan(absl::Time now) {
  ExpireDeadlines(now);
  if (static_cast<int32_t>(in_flight_.size()) >= options_.plans_in_flight) return StepPlan{};
  Draft draft;
  draft.budget = options_.max_batch_tokens;
  draft.score_budget = options_.max_logits_rows > 0 ? options_.max_logits_rows - running_limit_
                                                    : options_.max_batch_tokens;
  draft.claimed.assign(static_cast<size_t>(cache_.groups()), 0);
  draft.plan.sub_plans.resize(1);
  SortByProtection(draft);
  PlanDecodes(draft);
  if (!draft.short_of_blocks) Admit(draft);
  PlanPrefills(draft);
  SHOAL_CHECK(draft.budget >= 0);
  return Finish(std::move(draft));
}

void SchedulerImpl::SortByProtection(Draft& draft) const {
  draft.protection = running_;
  const auto key = [&](const Sequence* sequence) {
    // Requests of one priority class are told apart by the work that would be lost.
    const absl::Duration priority_class =
        absl::Floor(sequence->rank.virtual_arrival - absl::UnixEpoch(), options_.priority_step);
    return std::make_tuple(priority_class, -sequence->planned, sequence->rank);
  };
  std::ranges::sort(draft.protection,
                    [&](const Sequence* a, const Sequence* b) { return key(a) < key(b); });
}

void SchedulerImpl::PlanDecodes(Draft& draft) {
  // By value: preemption takes sequences out of the order while it is walked.
  const std::vector<Sequence*> order = draft.protection;
  for (Sequence* sequence : order) {
    if (sequence->state != SequenceState::kRunning || !sequence->decodes()) continue;
    SHOAL_CHECK(draft.budget > 0);
    PlanChunk(draft, *sequence, 1);
  }
}

void SchedulerImpl::PlanPrefills(Draft& draft) {
  std::vector<Sequence*> prompts;
  for (Sequence* sequence : running_) {
    const SequenceId id = sequence->request.id;
    if (draft.planned.contains(id) || draft.stalled.contains(id)) continue;
    if (sequence->Remaining() > 0) prompts.push_back(sequence);
  }
  std::ranges::sort(prompts,
                    [](const Sequence* a, const Sequence* b) { return a->rank < b->rank; });
  std::vector<int32_t> remaining;
  for (const Sequence* sequence : prompts) remaining.push_back(sequence->Remaining());
  const std::vector<int32_t> shares = ShareBudget(remaining, draft.budget);

  std::map<SequenceId, int32_t> share_of;
  for (size_t i = 0; i < prompts.size(); ++i) share_of[prompts[i]->request.id] = shares[i];
  const std::vector<Sequence*> order = draft.protection;
  for (Sequence* sequence : order) {
    if (sequence->state != SequenceState::kRunning) continue;
    const auto share = share_of.find(sequence->request.id);
    if (share == share_of.end() || share->second == 0) continue;
    PlanChunk(draft, *sequence, share->second);
  }
  // The most protected sequence can always have its block, whatever the shares were.
  if (!draft.slices.empty() || !in_flight_.empty() || draft.protection.empty()) return;
  PlanChunk(draft, *draft.protection.front(), draft.budget);
  SHOAL_CHECK(!draft.slices.empty());
}

// Waits or preempts for the first block only; the rest of the chunk takes what is free.
void SchedulerImpl::PlanChunk(Draft& draft, Sequence& sequence, int32_t count_max) {
  SHOAL_CHECK(count_max >= 1);
  if (!EnsureBlocks(draft, sequence, sequence.planned + 1)) {
    draft.stalled.insert(sequence.request.id);
    return;
  }
  const int32_t wanted = std::min(count_max, sequence.Remaining());
  const int32_t count = Affordable(sequence, ScoringMax(draft, sequence, wanted));
  const bool covered = EnsureBlocks(draft, sequence, sequence.planned + count);
  SHOAL_CHECK(covered);
  PlanSlice(draft, sequence, count);
}

// Every sequence may have one row of logits; what scores its prompt takes more of them.
int32_t SchedulerImpl::ScoringMax(const Draft& draft, const Sequence& sequence,
                                  int32_t count) const {
  if (LogitsOf(sequence, count, /*sample=*/false) != Logits::kAll) return count;
  return std::min(count, draft.score_budget + 1);
}

Logits SchedulerImpl::LogitsOf(const Sequence& sequence, int32_t count, bool sample) const {
  // Row p tells of the token at p + 1; rows [planned, planned + count) run.
  if (sequence.wants_prompt_logprobs()) {
    const int32_t last = std::min(sequence.planned + count, sequence.request.prompt_tokens - 1);
    if (sequence.prompt_asked <= last) return Logits::kAll;
  }
  return sample ? Logits::kLast : Logits::kNone;
}

void SchedulerImpl::PlanSlice(Draft& draft, Sequence& sequence, int32_t count) {
  SHOAL_CHECK(count >= 1);
  SHOAL_CHECK(count <= draft.budget);
  SHOAL_CHECK(count <= sequence.Remaining());
  TellExecutor(draft, sequence);
  const bool last = sequence.planned + count == sequence.tokens_promised();
  Slice slice;
  slice.sequence = sequence.request.id;
  slice.first_position = sequence.planned;
  slice.count = count;
  slice.sample = last && sequence.tokens_promised() < sequence.tokens_limit;
  slice.sample_row = slice.sample ? draft.sample_rows++ : -1;
  slice.logits = LogitsOf(sequence, count, slice.sample);
  if (sequence.samples_in_flight > 0) slice.input = sequence.last_sample;
  SHOAL_CHECK(!slice.input.has_value() || slice.sample);

  if (slice.logits == Logits::kAll) {
    sequence.prompt_asked = std::min(sequence.planned + count + 1, sequence.request.prompt_tokens);
    draft.score_budget -= count - 1;
    SHOAL_CHECK(draft.score_budget >= 0);
  }
  sequence.planned += count;
  ++sequence.steps_in_flight;
  if (slice.sample) {
    ++sequence.samples_in_flight;
    sequence.last_sample = {.step = StepNumber(last_step_ + 1), .row = slice.sample_row};
  }
  draft.budget -= count;
  draft.planned.insert(slice.sequence);
  draft.slices.push_back({.sequence = slice.sequence,
                          .first = slice.first_position,
                          .count = count,
                          .sample = slice.sample,
                          .reports = slice.logits != Logits::kNone,
                          .prompt_end = slice.logits == Logits::kAll ? sequence.prompt_asked : 0});
  draft.plan.sub_plans[0].slices.push_back(slice);
}

void SchedulerImpl::TellExecutor(Draft& draft, Sequence& sequence) {
  if (!sequence.in_executor) {
    SHOAL_CHECK(sequence.samples_in_flight == 0);
    sequence.in_executor = true;
    draft.plan.added.push_back({.sequence = sequence.request.id,
                                .tokens = sequence.tokens,
                                .prompt_tokens = sequence.request.prompt_tokens,
                                .sampling = sequence.request.sampling});
  }
  for (int32_t group = 0; group < cache_.groups(); ++group) {
    BlockTable& table = sequence.tables[group];
    const auto size = static_cast<int32_t>(table.ids.size());
    if (table.told == size) continue;
    draft.plan.appended.push_back({.sequence = sequence.request.id,
                                   .group = group,
                                   .blocks = {table.ids.begin() + table.told, table.ids.end()}});
    table.told = size;
  }
}

StepPlan SchedulerImpl::Finish(Draft draft) {
  StepPlan plan = std::move(draft.plan);
  plan.removed = std::exchange(removals_, {});
  if (plan.sub_plans[0].slices.empty()) plan.sub_plans.clear();
  if (plan.empty()) return StepPlan{};
  plan.step = StepNumber(++last_step_);
  plan.digest = StepPlanDigest(plan);
  in_flight_.push_back({.step = plan.step, .slices = std::move(draft.slices)});
  return plan;
}

}  // namespace shoal::scheduler
