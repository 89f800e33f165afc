// SPDX-License-Identifier: Apache-2.0
// Sequence: what the scheduler knows of one request. Plain state; the rules that move it are the
// scheduler's.
#pragma once

#include <cstdint>
#include <optional>
#include <tuple>
#include <vector>

#include "absl/time/time.h"
#include "scheduler/kv_cache.h"
#include "scheduler/types/block_hash.h"
#include "scheduler/types/request.h"
#include "scheduler/types/step_plan.h"

namespace shoal::scheduler {

enum class SequenceState : uint8_t {
  kParked,   // waits for a sibling's prompt blocks
  kWaiting,  // in the waiting queue
  kRunning,  // gets slices
  kEnded,    // has its finish reason; stays only while a step in flight names it
};

// Order in which requests are served: smaller is sooner. The virtual arrival is the arrival moved
// ahead by priority steps, so a request that has waited one step longer equals one that is one
// priority higher, and the order of two requests never changes.
struct Rank {
  absl::Time virtual_arrival;
  absl::Time arrival;
  SequenceId id;
  friend bool operator<(const Rank& a, const Rank& b) {
    return std::tie(a.virtual_arrival, a.arrival, a.id) <
           std::tie(b.virtual_arrival, b.arrival, b.id);
  }
};

struct Sequence {
  Request request;
  std::vector<TokenId> tokens;  // prompt and every token known so far
  Rank rank;
  SequenceState state = SequenceState::kWaiting;
  // Ends with kLength once this many tokens are known (a scored prompt: once it is computed).
  int32_t tokens_limit = 0;

  BlockHash root;
  std::vector<BlockHash> hashes;   // of full blocks of `tokens`, as far as they were needed
  std::vector<BlockTable> tables;  // one per KV group
  bool in_executor = false;        // its ranks hold its state

  // Positions [0, planned) have been put into plans, [0, applied) are known to be in the KV.
  int32_t planned = 0;
  int32_t applied = 0;
  int32_t stored_blocks = 0;      // full blocks offered to the prefix index
  int32_t steps_in_flight = 0;    // un-applied steps with a slice of this sequence
  int32_t samples_in_flight = 0;  // those that sample
  TokenRef last_sample;           // the latest of them

  // Prompt logprobs: next position to deliver, next position to ask for.
  int32_t prompt_delivered = 1;
  int32_t prompt_asked = 1;
  std::optional<int32_t> cached_tokens;  // of the first admission
  // Of the last failed admission: fresh blocks it wanted per group, and its prefix hit.
  std::vector<int64_t> blocks_wanted;  // empty: never failed
  int32_t blocks_hit = 0;

  bool wants_prompt_logprobs() const { return request.sampling.prompt_logprobs >= 0; }
  bool scores_only() const { return request.stop.max_tokens == 0; }
  // Tokens that are known or being sampled.
  int32_t tokens_promised() const {
    return static_cast<int32_t>(tokens.size()) + samples_in_flight;
  }
  // Tokens whose KV could be computed now.
  int32_t Remaining() const;
  // One token is left: it decodes (or its prefill takes no more than a decode).
  bool decodes() const { return Remaining() == 1; }
  bool prefills() const { return Remaining() > 1; }
  // Full blocks of the client's prompt are computed, so siblings can reuse them.
  bool PromptBlocksApplied(int32_t block_tokens) const;
  HashedTokens hashed() const { return {.root = root, .hashes = hashes, .tokens = tokens}; }
  // Extends `hashes` to `blocks` full blocks; each block is hashed once.
  void HashBlocks(int32_t blocks, int32_t block_tokens);
};

}  // namespace shoal::scheduler
