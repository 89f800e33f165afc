// SPDX-License-Identifier: Apache-2.0
// Admission: which waiting requests start. Strictly in rank order: nobody overtakes a request that
// waits for memory. One is admitted only if all its known tokens fit beside what running prompts
// still need and a block for each running sequence to grow, so that it is not preempted at once.
#include <algorithm>

#include "base/check.h"
#include "scheduler/scheduler_impl.h"

namespace shoal::scheduler {

void SchedulerImpl::Admit(Draft& draft) {
  while (static_cast<int32_t>(running_.size()) < running_limit_) {
    Sequence* const next = waiting_.front();
    if (next == nullptr || !TryAdmit(*next)) return;
    draft.protection.push_back(next);
  }
}

bool SchedulerImpl::TryAdmit(Sequence& sequence) {
  // Preempted, and the tokens that it still gets are not known yet.
  if (sequence.steps_in_flight > 0) return false;
  if (!WorthTrying(sequence)) return false;
  const PrefixHit hit = FindHit(sequence);
  std::vector<int64_t> wanted(static_cast<size_t>(cache_.groups()));
  bool fits = true;
  for (int32_t group = 0; group < cache_.groups(); ++group) {
    wanted[group] = std::max<int64_t>(0, BlocksNeeded(sequence, group) - hit.tables[group].live());
    const int64_t available = cache_.free_blocks(group) - cache_.FreeInHit(hit, group);
    fits = fits && available >= wanted[group] + BlocksReserved(group);
  }
  if (!fits) {
    sequence.blocks_wanted = std::move(wanted);
    sequence.blocks_hit = hit.blocks;
    return false;
  }
  Start(sequence, hit);
  return true;
}

// Looking up a prefix costs its length; a request that failed is tried again only when enough
// blocks are free or its hit may have grown.
bool SchedulerImpl::WorthTrying(const Sequence& sequence) const {
  if (sequence.blocks_wanted.empty()) return true;
  bool enough = true;
  for (int32_t group = 0; group < cache_.groups(); ++group)
    enough = enough &&
             cache_.free_blocks(group) >= sequence.blocks_wanted[group] + BlocksReserved(group);
  return enough || (sequence.blocks_hit < BlocksHitMax(sequence) &&
                    cache_.Knows(sequence.hashed(), sequence.blocks_hit));
}

int32_t SchedulerImpl::BlocksHitMax(const Sequence& sequence) const {
  if (!options_.prefix_cache) return 0;
  // The last token always runs. Prompt logprobs that are still to be delivered come from rows that
  // must run too: that of token i from the row before it.
  int32_t tokens_max = static_cast<int32_t>(sequence.tokens.size()) - 1;
  if (sequence.wants_prompt_logprobs())
    tokens_max = std::min(tokens_max, sequence.prompt_delivered - 1);
  return tokens_max / options_.block_tokens;
}

PrefixHit SchedulerImpl::FindHit(Sequence& sequence) const {
  const int32_t blocks_max = BlocksHitMax(sequence);
  sequence.HashBlocks(blocks_max, options_.block_tokens);
  return cache_.Lookup(sequence.hashed(), blocks_max);
}

int64_t SchedulerImpl::BlocksNeeded(const Sequence& sequence, int32_t group) const {
  int64_t blocks = cache_.BlocksFor(static_cast<int64_t>(sequence.tokens.size()) + 1);
  if (const int32_t window = cache_.window(group); window > 0) {
    // A window, and the chunks that may be in flight before the first of it is given back.
    const int64_t chunks = int64_t{options_.plans_in_flight} * options_.max_batch_tokens;
    blocks = std::min<int64_t>(blocks, cache_.BlocksFor(window - 1 + chunks) + 1);
  }
  return std::min(blocks, cache_.blocks(group));
}

int64_t SchedulerImpl::BlocksReserved(int32_t group) const {
  // One for each to grow, and what prompts have yet to take.
  auto reserved = static_cast<int64_t>(running_.size());
  for (const Sequence* sequence : running_) {
    if (!sequence->prefills()) continue;
    reserved +=
        std::max<int64_t>(0, BlocksNeeded(*sequence, group) - sequence->tables[group].live());
  }
  return reserved;
}

void SchedulerImpl::Start(Sequence& sequence, const PrefixHit& hit) {
  SHOAL_CHECK(!sequence.in_executor);
  SHOAL_CHECK(sequence.planned == 0);
  Dequeue(sequence);
  sequence.state = SequenceState::kRunning;
  running_.push_back(&sequence);
  counters_.running_tokens += static_cast<int64_t>(sequence.tokens.size());
  cache_.Hold(hit);
  sequence.tables = hit.tables;
  const int32_t hit_tokens = hit.blocks * options_.block_tokens;
  SHOAL_CHECK(hit_tokens < static_cast<int32_t>(sequence.tokens.size()));
  sequence.planned = sequence.applied = hit_tokens;
  sequence.stored_blocks = hit.blocks;
  sequence.prompt_asked = sequence.prompt_delivered;
  sequence.blocks_wanted.clear();
  if (UsesCache(sequence) && !sequence.cached_tokens.has_value()) {
    counters_.prefix_query_tokens += sequence.request.prompt_tokens;
    counters_.prefix_hit_tokens += std::min(hit_tokens, sequence.request.prompt_tokens);
  }
  if (!sequence.cached_tokens.has_value())
    sequence.cached_tokens = std::min(hit_tokens, sequence.request.prompt_tokens);
  WakeSiblings(sequence);
}

}  // namespace shoal::scheduler
