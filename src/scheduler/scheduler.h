// SPDX-License-Identifier: Apache-2.0
// Scheduler: decides what each step of a replica runs. Pure: no clock, thread, device or file; time
// is an argument, and the same calls give the same plans.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/time/time.h"
#include "scheduler/types/request.h"
#include "scheduler/types/step_plan.h"
#include "scheduler/types/step_result.h"

namespace shoal::scheduler {

// One KV group: layers of equal retention and shape share a block table.
struct KvGroupSpec {
  int32_t window = 0;  // 0: every token is kept; W: only the last W
  int64_t blocks = 0;  // pool size
};

struct SchedulerOptions {
  int32_t block_tokens = 16;
  std::vector<KvGroupSpec> groups;
  int32_t max_context = 0;
  int32_t max_batch_tokens = 512;
  // Tokens of a step whose logits are wanted, at most; 0: all may be. At least one for each running
  // sequence; prompts whose logprobs are wanted share the rest.
  int32_t max_logits_rows = 0;
  int32_t max_sequences = 64;   // running at once
  int32_t max_waiting = 1024;   // queued at most
  int32_t plans_in_flight = 1;  // D
  bool prefix_cache = true;
  std::string weights_digest;  // root of the block-hash namespace
  // A waiting request's priority rises by one for each such span of waiting (nobody starves).
  absl::Duration priority_step = absl::Seconds(5);
};

struct SchedulerStats {
  int64_t running = 0, waiting = 0;
  int64_t queued_tokens = 0, running_tokens = 0;
  int64_t blocks_total = 0,
          blocks_free = 0;  // of the fullest group; free includes reusable cached ones
  int64_t preemptions = 0;
  int64_t prefix_query_tokens = 0, prefix_hit_tokens = 0;
  int64_t dropped_results = 0;  // results of sequences that had ended
  absl::Time oldest_waiting = absl::InfiniteFuture();
};

// KV events: hashes (BlockHash::event_hash) of blocks that became reusable or were evicted, each in
// order. What was removed was removed before anything here was stored. With several KV groups they
// are those of the first one that keeps every token.
struct KvEvents {
  std::vector<uint64_t> stored;
  std::vector<uint64_t> removed;
};

struct Applied {
  std::vector<Delta> deltas;
  KvEvents events;
};

// Not thread-safe: owned by the engine thread (or a simulator).
class Scheduler {
 public:
  virtual ~Scheduler() = default;

  // INVALID_ARGUMENT when prompt + 1 token exceeds the context or the pool alone;
  // RESOURCE_EXHAUSTED when the waiting queue is full. Otherwise the request ends with exactly one
  // finish reason in some Applied.
  virtual absl::Status Submit(Request request, absl::Time now) = 0;
  // Ends the sequence with kCancelled; unknown and ended ids are ignored.
  virtual void Cancel(SequenceId id) = 0;
  // The next step, or an empty plan when nothing can run now or D plans are in flight. A plan with
  // removals only is still to be executed. Also ends sequences past their deadline.
  virtual StepPlan Plan(absl::Time now) = 0;
  // Results come in plan order. Returns what clients get, including finishes decided in between.
  virtual Applied Apply(const StepResult& result, absl::Time now) = 0;
  // Finishes decided outside Apply (cancel, deadline, rejected growth) since the last call.
  virtual Applied TakePending() = 0;
  // True when no sequence is queued, running or in flight, no removal is still to be planned and no
  // delta is still to be taken.
  virtual bool idle() const = 0;
  virtual SchedulerStats stats() const = 0;
  // OK, or which invariant is broken (lost, doubly owned or leaked blocks...). For tests and soaks.
  virtual absl::Status CheckInvariants() const = 0;
};

absl::StatusOr<std::unique_ptr<Scheduler>> CreateScheduler(SchedulerOptions options);

}  // namespace shoal::scheduler
