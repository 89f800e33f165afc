// SPDX-License-Identifier: Apache-2.0
// SequenceTable: what a rank remembers of the live sequences between steps, because a StepPlan is
// only a delta: tokens, sampling parameters and block tables.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "absl/container/flat_hash_map.h"
#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "kernels/attention.h"
#include "scheduler/types/step_plan.h"
#include "worker/executor/token_history.h"

namespace shoal::worker {

struct SequenceState {
  // Takes a sampled token.
  void Append(scheduler::TokenId token);
  // What changes the logits of the next token. The views are valid until the state changes.
  kernels::LogitAdjustment Adjustment() const;

  std::vector<scheduler::TokenId> tokens;  // prompt, emitted and sampled ones
  int32_t prompt_tokens = 0;
  scheduler::SamplingParams sampling;
  bool counts_tokens = false;  // a penalty is on: `history` is kept
  TokenHistory history;
  std::vector<kernels::TokenBias> biases;
  std::vector<std::vector<scheduler::BlockId>> block_tables;  // one per KV group
};

// Owned by the rank's thread. Work per step is that of what the plan changes.
class SequenceTable {
 public:
  // `pools` gives the groups and how many blocks each has; it outlives the table.
  SequenceTable(std::span<const kernels::KvPool> pools, int64_t vocab_size)
      : pools_(pools), vocab_size_(vocab_size) {}

  // Applies removed, added and appended, in this order. INTERNAL names what does not fit: an
  // unknown or doubly added sequence, a group or block outside the pools, a token outside the
  // vocabulary.
  absl::Status Update(const scheduler::StepPlan& plan);

  // INTERNAL for an unknown id. The pointer is valid until the next Update.
  absl::StatusOr<SequenceState*> Find(scheduler::SequenceId id);

  int64_t size() const { return static_cast<int64_t>(sequences_.size()); }

 private:
  absl::Status CheckTokens(const scheduler::NewSequence& added) const;
  absl::Status Add(const scheduler::NewSequence& added);
  absl::Status Append(const scheduler::AppendedBlocks& appended);

  const std::span<const kernels::KvPool> pools_;
  const int64_t vocab_size_;
  absl::flat_hash_map<scheduler::SequenceId, SequenceState> sequences_;  // never iterated
};

}  // namespace shoal::worker
