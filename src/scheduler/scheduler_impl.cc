// SPDX-License-Identifier: Apache-2.0
#include "scheduler/scheduler_impl.h"

#include <algorithm>
#include <limits>
#include <string>

#include "absl/status/status.h"
#include "absl/strings/str_cat.h"
#include "base/check.h"
#include "base/status.h"

namespace shoal::scheduler {
namespace {

// Tokens that fit a sequence alone: the context, and the pools of the groups that keep everything.
int32_t ContextLimit(const SchedulerOptions& options) {
  int64_t limit = options.max_context;
  for (const KvGroupSpec& group : options.groups)
    if (group.window == 0) limit = std::min(limit, group.blocks * options.block_tokens);
  return static_cast<int32_t>(limit);
}

}  // namespace

SchedulerImpl::SchedulerImpl(SchedulerOptions options)
    : options_(std::move(options)),
      context_limit_(ContextLimit(options_)),
      // Every running sequence can then get at least one token in every step.
      running_limit_(std::min(options_.max_sequences, options_.max_batch_tokens)),
      cache_(options_) {}

absl::Status SchedulerImpl::ValidateRequest(const Request& request) const {
  const auto tokens = static_cast<int64_t>(request.tokens.size());
  if (request.tokens.empty()) return absl::InvalidArgumentError("the prompt has no tokens");
  if (request.prompt_tokens < 1 || request.prompt_tokens > tokens)
    return absl::InvalidArgumentError(absl::StrCat("prompt_tokens ", request.prompt_tokens,
                                                   " is outside [1, ", tokens,
                                                   "], the tokens of the request"));
  if (request.stop.max_tokens < 0)
    return absl::InvalidArgumentError(
        absl::StrCat("max_tokens ", request.stop.max_tokens, " is negative"));
  const int64_t needed = request.prompt_tokens + (request.stop.max_tokens > 0 ? 1 : 0);
  if (needed > options_.max_context || tokens > options_.max_context)
    return absl::InvalidArgumentError(absl::StrCat("prompt of ", request.prompt_tokens,
                                                   " tokens plus one exceeds the context of ",
                                                   options_.max_context, " tokens: shorten it"));
  if (needed > context_limit_ || tokens > context_limit_)
    return absl::InvalidArgumentError(absl::StrCat(
        "prompt of ", request.prompt_tokens, " tokens plus one exceeds the KV pool of ",
        context_limit_, " tokens: shorten it or raise engine.kv.memory"));
  return absl::OkStatus();
}

absl::Status SchedulerImpl::Submit(Request request, absl::Time now) {
  SHOAL_RETURN_IF_ERROR(ValidateRequest(request));
  SHOAL_CHECK(!sequences_.contains(request.id));
  if (waiting_.size() + siblings_.parked() >= options_.max_waiting)
    return absl::ResourceExhaustedError(absl::StrCat(
        "the waiting queue holds its ", options_.max_waiting, " requests: try again later"));

  auto owned = std::make_unique<Sequence>();
  Sequence& sequence = *owned;
  sequence.request = std::move(request);
  sequence.tokens = std::move(sequence.request.tokens);
  const Request& kept = sequence.request;
  const absl::Time arrival = kept.arrival == absl::InfinitePast() ? now : kept.arrival;
  sequence.rank = RankOf(kept, arrival, options_.priority_step);
  sequence.tokens_limit = static_cast<int32_t>(
      std::min<int64_t>(context_limit_, int64_t{kept.prompt_tokens} + kept.stop.max_tokens));
  sequence.root = NamespaceRoot(options_.weights_digest, kept.cache_namespace);
  sequence.tables.resize(static_cast<size_t>(cache_.groups()));
  // Siblings gain nothing by waiting for blocks that they will not look for or that do not exist.
  if (!UsesCache(sequence) || kept.prompt_tokens < options_.block_tokens)
    sequence.request.group_key = 0;
  const SequenceId id = kept.id;
  if (kept.deadline < absl::InfiniteFuture()) deadlines_.emplace(kept.deadline, id);
  sequences_.emplace(id, std::move(owned));

  if (siblings_.Join(sequence)) {
    sequence.state = SequenceState::kParked;
    CountWaiting(sequence, +1);
  } else {
    Enqueue(sequence);
  }
  if (const auto reason = CompleteOnArrival(sequence); reason.has_value())
    End(sequence, *reason, EmptyDelta(sequence));
  return absl::OkStatus();
}

// A request that is re-sent after its replica died may have had its last token already.
std::optional<FinishReason> SchedulerImpl::CompleteOnArrival(const Sequence& sequence) const {
  const auto known = static_cast<int32_t>(sequence.tokens.size());
  if (known == sequence.request.prompt_tokens) return std::nullopt;
  return FinishOf(sequence);
}

bool SchedulerImpl::UsesCache(const Sequence& sequence) const {
  return options_.prefix_cache && !sequence.wants_prompt_logprobs();
}

Sequence* SchedulerImpl::Find(SequenceId id) {
  const auto found = sequences_.find(id);
  return found == sequences_.end() ? nullptr : found->second.get();
}

void SchedulerImpl::CountWaiting(const Sequence& sequence, int sign) {
  counters_.queued_tokens += sign * static_cast<int64_t>(sequence.tokens.size());
  SHOAL_CHECK(counters_.queued_tokens >= 0);
  if (sign > 0) {
    waiting_since_.insert(sequence.rank.arrival);
    return;
  }
  const auto found = waiting_since_.find(sequence.rank.arrival);
  SHOAL_CHECK(found != waiting_since_.end());
  waiting_since_.erase(found);
}

void SchedulerImpl::Enqueue(Sequence& sequence) {
  sequence.state = SequenceState::kWaiting;
  waiting_.Insert(sequence);
  CountWaiting(sequence, +1);
}

void SchedulerImpl::Dequeue(Sequence& sequence) {
  SHOAL_CHECK(sequence.state == SequenceState::kWaiting);
  waiting_.Erase(sequence);
  CountWaiting(sequence, -1);
}

void SchedulerImpl::Cancel(SequenceId id) {
  Sequence* const sequence = Find(id);
  if (sequence == nullptr || sequence->state == SequenceState::kEnded) return;
  End(*sequence, FinishReason::kCancelled, EmptyDelta(*sequence));
}

void SchedulerImpl::ExpireDeadlines(absl::Time now) {
  while (!deadlines_.empty() && deadlines_.begin()->first <= now) {
    Sequence* const sequence = Find(deadlines_.begin()->second);
    SHOAL_CHECK(sequence != nullptr);
    End(*sequence, FinishReason::kDeadline, EmptyDelta(*sequence));
  }
}

Delta SchedulerImpl::EmptyDelta(const Sequence& sequence) const {
  Delta delta;
  delta.sequence = sequence.request.id;
  delta.prompt_tokens = sequence.request.prompt_tokens;
  delta.cached_tokens = sequence.cached_tokens.value_or(0);
  return delta;
}

void SchedulerImpl::End(Sequence& sequence, FinishReason reason, Delta delta) {
  SHOAL_CHECK(sequence.state != SequenceState::kEnded);
  SHOAL_CHECK(delta.sequence == sequence.request.id);
  delta.finish = reason;
  deltas_.push_back(std::move(delta));
  deadlines_.erase({sequence.request.deadline, sequence.request.id});

  const SequenceState before = sequence.state;
  if (before == SequenceState::kWaiting) Dequeue(sequence);
  if (before == SequenceState::kParked) CountWaiting(sequence, -1);
  if (before == SequenceState::kRunning) LeaveRunning(sequence);
  sequence.state = SequenceState::kEnded;
  for (Sequence* next : siblings_.Left(sequence)) {
    CountWaiting(*next, -1);
    Enqueue(*next);
  }
  LeaveExecutor(sequence);
  if (before == SequenceState::kRunning) {
    StartDraining(sequence);
  } else if (sequence.steps_in_flight == 0) {
    FinishDraining(sequence);  // else it was preempted and drains already
  }
}

void SchedulerImpl::LeaveRunning(Sequence& sequence) {
  std::erase(running_, &sequence);
  counters_.running_tokens -= static_cast<int64_t>(sequence.tokens.size());
  SHOAL_CHECK(counters_.running_tokens >= 0);
}

void SchedulerImpl::LeaveExecutor(Sequence& sequence) {
  if (!sequence.in_executor) return;
  sequence.in_executor = false;
  removals_.push_back(sequence.request.id);
}

void SchedulerImpl::StartDraining(Sequence& sequence) {
  SHOAL_CHECK(sequence.state != SequenceState::kRunning);
  if (sequence.steps_in_flight > 0) {
    draining_.push_back(&sequence);
  } else {
    FinishDraining(sequence);
  }
}

void SchedulerImpl::FinishDraining(Sequence& sequence) {
  SHOAL_CHECK(sequence.state != SequenceState::kRunning);
  SHOAL_CHECK(sequence.steps_in_flight == 0);
  SHOAL_CHECK(sequence.samples_in_flight == 0);
  std::erase(draining_, &sequence);
  for (int32_t group = 0; group < cache_.groups(); ++group)
    cache_.ReleaseAll(group, sequence.tables[group]);
  sequence.planned = sequence.applied = sequence.stored_blocks = 0;
  sequence.prompt_asked = sequence.prompt_delivered;
  if (sequence.state == SequenceState::kEnded) sequences_.erase(sequence.request.id);
}

Applied SchedulerImpl::TakePending() {
  return {.deltas = std::exchange(deltas_, {}), .events = cache_.TakeEvents()};
}

bool SchedulerImpl::idle() const {
  return sequences_.empty() && in_flight_.empty() && removals_.empty() && deltas_.empty();
}

SchedulerStats SchedulerImpl::stats() const {
  SchedulerStats stats = counters_;
  stats.running = static_cast<int64_t>(running_.size());
  stats.waiting = waiting_.size() + siblings_.parked();
  for (int32_t group = 0; group < cache_.groups(); ++group) {
    const int64_t total = cache_.blocks(group);
    const int64_t free = cache_.free_blocks(group);
    // free / total is smaller than that of the groups before
    if (group > 0 && free * stats.blocks_total >= stats.blocks_free * total) continue;
    stats.blocks_total = total;
    stats.blocks_free = free;
  }
  if (!waiting_since_.empty()) stats.oldest_waiting = *waiting_since_.begin();
  return stats;
}

}  // namespace shoal::scheduler
