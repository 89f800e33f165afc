// SPDX-License-Identifier: Apache-2.0
// The checker: recomputes everything that is kept incrementally and compares. O(everything); for
// tests and soaks.
#include <algorithm>
#include <string>

#include "absl/strings/str_cat.h"
#include "base/status.h"
#include "scheduler/scheduler_impl.h"

namespace shoal::scheduler {
namespace {

absl::Status Expect(bool condition, const Sequence& sequence, absl::string_view what) {
  if (condition) return absl::OkStatus();
  return absl::InternalError(
      absl::StrCat("sequence ", sequence.request.id.value(), " breaks: ", what));
}

}  // namespace

absl::Status SchedulerImpl::CheckInvariants() const {
  std::vector<std::vector<int32_t>> references(static_cast<size_t>(cache_.groups()));
  for (int32_t group = 0; group < cache_.groups(); ++group)
    references[group].resize(static_cast<size_t>(cache_.blocks(group)));
  for (const auto& [id, sequence] : sequences_) {
    SHOAL_RETURN_IF_ERROR(Expect(id == sequence->request.id, *sequence, "is kept under its id"));
    SHOAL_RETURN_IF_ERROR(CheckSequence(*sequence));
    for (int32_t group = 0; group < cache_.groups(); ++group) {
      const BlockTable& table = sequence->tables[group];
      for (size_t i = table.first_live; i < table.ids.size(); ++i)
        ++references[group][table.ids[i]];
    }
  }
  SHOAL_RETURN_IF_ERROR(cache_.CheckInvariants(references));
  return CheckCounts();
}

absl::Status SchedulerImpl::CheckSequence(const Sequence& sequence) const {
  int32_t steps = 0;
  int32_t samples = 0;
  for (const StepInFlight& step : in_flight_) {
    for (const SliceInFlight& slice : step.slices) {
      if (slice.sequence != sequence.request.id) continue;
      ++steps;
      samples += slice.sample ? 1 : 0;
    }
  }
  const SequenceState state = sequence.state;
  const bool running = state == SequenceState::kRunning;
  const bool drains = std::ranges::find(draining_, &sequence) != draining_.end();
  const auto known = static_cast<int32_t>(sequence.tokens.size());
  SHOAL_RETURN_IF_ERROR(Expect(steps == sequence.steps_in_flight, sequence, "steps in flight"));
  SHOAL_RETURN_IF_ERROR(
      Expect(samples == sequence.samples_in_flight, sequence, "samples in flight"));
  SHOAL_RETURN_IF_ERROR(Expect(drains == (!running && steps > 0), sequence,
                               "drains exactly while a step names it and it does not run"));
  SHOAL_RETURN_IF_ERROR(
      Expect(running == (std::ranges::find(running_, &sequence) != running_.end()), sequence,
             "is listed as running exactly when it runs"));
  SHOAL_RETURN_IF_ERROR(Expect(
      (state == SequenceState::kWaiting) == waiting_.contains(const_cast<Sequence&>(sequence)),
      sequence, "is in the waiting queue exactly when it waits"));
  SHOAL_RETURN_IF_ERROR(Expect(state != SequenceState::kEnded || steps > 0, sequence,
                               "an ended sequence stays only while a step names it"));
  SHOAL_RETURN_IF_ERROR(
      Expect(running || !sequence.in_executor, sequence, "only running ones are in the executor"));
  SHOAL_RETURN_IF_ERROR(
      Expect(sequence.applied <= sequence.planned, sequence, "applied <= planned"));
  SHOAL_RETURN_IF_ERROR(Expect(sequence.stored_blocks * options_.block_tokens <= sequence.applied,
                               sequence, "only applied blocks are stored"));
  if (state != SequenceState::kEnded) {
    SHOAL_RETURN_IF_ERROR(Expect(known + samples <= std::max(sequence.tokens_limit, known),
                                 sequence, "never samples beyond its limit"));
    SHOAL_RETURN_IF_ERROR(
        Expect(sequence.planned < known + samples + (sequence.scores_only() ? 1 : 0), sequence,
               "plans only tokens that are known or sampled"));
  }
  for (int32_t group = 0; group < cache_.groups(); ++group) {
    const BlockTable& table = sequence.tables[group];
    const auto size = static_cast<int32_t>(table.ids.size());
    SHOAL_RETURN_IF_ERROR(Expect(running || steps > 0 || size == 0, sequence,
                                 "holds blocks only while it runs or drains"));
    SHOAL_RETURN_IF_ERROR(Expect(size == cache_.BlocksFor(sequence.planned), sequence,
                                 "its table covers exactly what is planned"));
    SHOAL_RETURN_IF_ERROR(Expect(table.first_live <= cache_.FirstNeeded(group, sequence.applied),
                                 sequence, "holds every block that is still read"));
    SHOAL_RETURN_IF_ERROR(Expect(table.told <= size && table.first_live <= size, sequence,
                                 "its table counts are within the table"));
  }
  return absl::OkStatus();
}

absl::Status SchedulerImpl::CheckCounts() const {
  int64_t running = 0;
  int64_t waiting = 0;
  int64_t parked = 0;
  int64_t queued_tokens = 0;
  int64_t running_tokens = 0;
  int64_t deadlines = 0;
  for (const auto& [id, sequence] : sequences_) {
    running += sequence->state == SequenceState::kRunning ? 1 : 0;
    waiting += sequence->state == SequenceState::kWaiting ? 1 : 0;
    parked += sequence->state == SequenceState::kParked ? 1 : 0;
    if (sequence->state == SequenceState::kWaiting || sequence->state == SequenceState::kParked)
      queued_tokens += static_cast<int64_t>(sequence->tokens.size());
    if (sequence->state == SequenceState::kRunning)
      running_tokens += static_cast<int64_t>(sequence->tokens.size());
    if (sequence->state != SequenceState::kEnded &&
        sequence->request.deadline < absl::InfiniteFuture())
      ++deadlines;
  }
  if (running != static_cast<int64_t>(running_.size()) || running > running_limit_)
    return absl::InternalError(absl::StrCat(running, " sequences run"));
  if (waiting != waiting_.size() || parked != siblings_.parked())
    return absl::InternalError(absl::StrCat(waiting, " wait and ", parked, " are parked"));
  if (waiting + parked != static_cast<int64_t>(waiting_since_.size()))
    return absl::InternalError("waiting times are lost");
  if (queued_tokens != counters_.queued_tokens)
    return absl::InternalError(
        absl::StrCat(queued_tokens, " tokens are queued, counted ", counters_.queued_tokens));
  if (running_tokens != counters_.running_tokens)
    return absl::InternalError(
        absl::StrCat(running_tokens, " tokens run, counted ", counters_.running_tokens));
  if (deadlines != static_cast<int64_t>(deadlines_.size()))
    return absl::InternalError("a deadline is lost");
  if (parked > 0 && waiting + running == 0)
    return absl::InternalError("siblings are parked and nobody computes their prompt");
  if (static_cast<int64_t>(in_flight_.size()) > options_.plans_in_flight)
    return absl::InternalError(absl::StrCat(in_flight_.size(), " plans are in flight"));
  if (sequences_.empty() && !siblings_.empty())
    return absl::InternalError("a sibling group outlives its members");
  return absl::OkStatus();
}

}  // namespace shoal::scheduler
