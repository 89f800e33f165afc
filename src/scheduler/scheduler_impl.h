// SPDX-License-Identifier: Apache-2.0
// SchedulerImpl: the one implementation of Scheduler. The file is split by what decides:
//   scheduler_impl.cc  requests in and out     admission.cc   waiting -> running
//   planning.cc        one step's slices       preemption.cc  running -> waiting, block shortage
//   applying.cc        results of a step       invariants.cc  the checker
//
// How a block lives: a sequence holds its blocks from the plan that first needs them until no step
// in flight names the sequence any more; ended and preempted ones therefore "drain" first. Full
// blocks become reusable when the step that filled them is applied, never before.
//
// Running sequences have an order of protection (priority class, then most work, then earliest).
// Whoever needs a block takes, in this order: a free one; one that a draining sequence is about to
// give back (and waits a step); one of the least protected sequence behind itself that this plan
// does not run. The most protected one therefore always advances, and with it everybody in turn.
#pragma once

#include <cstdint>
#include <deque>
#include <map>
#include <memory>
#include <optional>
#include <set>
#include <utility>
#include <vector>

#include "scheduler/kv_cache.h"
#include "scheduler/scheduler.h"
#include "scheduler/sequence.h"
#include "scheduler/sibling_groups.h"
#include "scheduler/waiting_queue.h"

namespace shoal::scheduler {

class SchedulerImpl final : public Scheduler {
 public:
  // `options` have passed ValidateOptions.
  explicit SchedulerImpl(SchedulerOptions options);

  absl::Status Submit(Request request, absl::Time now) override;
  void Cancel(SequenceId id) override;
  StepPlan Plan(absl::Time now) override;
  Applied Apply(const StepResult& result, absl::Time now) override;
  Applied TakePending() override;
  bool idle() const override;
  SchedulerStats stats() const override;
  absl::Status CheckInvariants() const override;

 private:
  // What is needed of a planned slice when its result comes.
  struct SliceInFlight {
    SequenceId sequence;
    int32_t first = 0;
    int32_t count = 0;
    bool sample = false;
    bool reports = false;    // the executor must report something for it
    int32_t prompt_end = 0;  // prompt logprobs are due up to here
  };
  struct StepInFlight {
    StepNumber step;
    std::vector<SliceInFlight> slices;
  };
  // The plan being made.
  struct Draft {
    StepPlan plan;
    std::vector<SliceInFlight> slices;
    std::set<SequenceId> planned;       // have a slice in it
    std::vector<Sequence*> protection;  // running ones, most protected first
    std::vector<int64_t> claimed;       // per group: draining blocks that a sequence waits for
    int32_t budget = 0;                 // tokens left
    int32_t score_budget = 0;           // rows of logits left beyond one a sequence
    int32_t sample_rows = 0;
    // Got no slice for want of a block, and are not asked again in this plan.
    std::set<SequenceId> stalled;
    bool short_of_blocks = false;  // somebody stalled or was preempted
  };

  // --- scheduler_impl.cc
  absl::Status ValidateRequest(const Request& request) const;
  std::optional<FinishReason> CompleteOnArrival(const Sequence& sequence) const;
  Sequence* Find(SequenceId id);
  bool UsesCache(const Sequence& sequence) const;
  void Enqueue(Sequence& sequence);  // into the waiting queue
  void Dequeue(Sequence& sequence);  // out of it
  void CountWaiting(const Sequence& sequence, int sign);
  void ExpireDeadlines(absl::Time now);
  // Gives the sequence its finish reason, in `delta` if one is being built.
  void End(Sequence& sequence, FinishReason reason, Delta delta);
  Delta EmptyDelta(const Sequence& sequence) const;
  void LeaveRunning(Sequence& sequence);  // out of running_
  void LeaveExecutor(Sequence& sequence);
  void StartDraining(Sequence& sequence);
  // When no step in flight names a sequence that is not running: frees its blocks, forgets it when
  // it has ended.
  void FinishDraining(Sequence& sequence);

  // --- admission.cc
  void Admit(Draft& draft);
  bool TryAdmit(Sequence& sequence);
  bool WorthTrying(const Sequence& sequence) const;
  int32_t BlocksHitMax(const Sequence& sequence) const;
  PrefixHit FindHit(Sequence& sequence) const;
  // Blocks of the group that the sequence must be able to hold to compute all its tokens.
  int64_t BlocksNeeded(const Sequence& sequence, int32_t group) const;
  // Those to be left for running sequences.
  int64_t BlocksReserved(int32_t group) const;
  void Start(Sequence& sequence, const PrefixHit& hit);

  // --- planning.cc
  void SortByProtection(Draft& draft) const;
  void PlanDecodes(Draft& draft);
  void PlanPrefills(Draft& draft);
  void PlanChunk(Draft& draft, Sequence& sequence, int32_t count_max);
  int32_t ScoringMax(const Draft& draft, const Sequence& sequence, int32_t count) const;
  void PlanSlice(Draft& draft, Sequence& sequence, int32_t count);
  void TellExecutor(Draft& draft, Sequence& sequence);
  Logits LogitsOf(const Sequence& sequence, int32_t count, bool sample) const;
  StepPlan Finish(Draft draft);

  // --- preemption.cc
  // Appends blocks so that positions up to `end` are covered; false when it has to wait.
  bool EnsureBlocks(Draft& draft, Sequence& sequence, int32_t end);
  // The most positions beyond `planned`, up to `count`, that free blocks allow now.
  int32_t Affordable(const Sequence& sequence, int32_t count) const;
  int64_t BlocksMissing(const Sequence& sequence, int32_t group, int32_t end) const;
  int64_t Draining(int32_t group) const;
  Sequence* ChooseVictim(const Draft& draft, const Sequence& needy,
                         const std::vector<int32_t>& short_groups) const;
  bool WouldFree(const Sequence& sequence, const std::vector<int32_t>& groups) const;
  void Preempt(Sequence& sequence);

  // --- applying.cc
  void ApplySlice(const SliceInFlight& slice, const SequenceResult* result);
  void ApplyTokens(Sequence& sequence, const SequenceResult& result, Delta& delta);
  void ApplyPrompt(Sequence& sequence, const SequenceResult& result, Delta& delta);
  std::optional<FinishReason> FinishOf(const Sequence& sequence) const;
  void StoreBlocks(Sequence& sequence);
  void WakeSiblings(const Sequence& sequence);

  // --- invariants.cc
  absl::Status CheckSequence(const Sequence& sequence) const;
  absl::Status CheckCounts() const;

  const SchedulerOptions options_;
  const int32_t context_limit_;  // tokens of a sequence: max_context or what the pool can hold
  const int32_t running_limit_;

  KvCache cache_;
  // Every sequence that has not ended or is named by a step in flight.
  std::map<SequenceId, std::unique_ptr<Sequence>> sequences_;
  WaitingQueue waiting_;
  SiblingGroups siblings_;
  std::vector<Sequence*> running_;   // in order of admission
  std::vector<Sequence*> draining_;  // not running, but named by a step in flight
  std::set<std::pair<absl::Time, SequenceId>> deadlines_;  // finite ones of sequences not ended
  std::multiset<absl::Time> waiting_since_;                // waiting and parked
  std::vector<SequenceId> removals_;                       // for the next plan

  std::deque<StepInFlight> in_flight_;
  uint64_t last_step_ = 0;
  std::vector<Delta> deltas_;  // for the next Apply or TakePending
  SchedulerStats counters_;    // the cumulative fields, queued_tokens and running_tokens
};

// INVALID_ARGUMENT names the option, its value and the rule.
absl::Status ValidateOptions(const SchedulerOptions& options);

}  // namespace shoal::scheduler
