// SPDX-License-Identifier: Apache-2.0
// Shortage of blocks: who waits, and who is preempted. A victim computes again from what the prefix
// cache still holds; no token it has emitted, or has in flight, is lost.
#include <algorithm>

#include "base/check.h"
#include "scheduler/scheduler_impl.h"

namespace shoal::scheduler {

int64_t SchedulerImpl::BlocksMissing(const Sequence& sequence, int32_t group, int32_t end) const {
  const auto held = static_cast<int64_t>(sequence.tables[group].ids.size());
  return std::max<int64_t>(0, cache_.BlocksFor(end) - held);
}

int32_t SchedulerImpl::Affordable(const Sequence& sequence, int32_t count) const {
  int64_t end = int64_t{sequence.planned} + count;
  for (int32_t group = 0; group < cache_.groups(); ++group) {
    const auto held = static_cast<int64_t>(sequence.tables[group].ids.size());
    end = std::min(end, (held + cache_.free_blocks(group)) * options_.block_tokens);
  }
  return static_cast<int32_t>(end - sequence.planned);
}

bool SchedulerImpl::EnsureBlocks(Draft& draft, Sequence& sequence, int32_t end) {
  while (true) {
    std::vector<int32_t> short_groups;
    bool will_drain = true;  // blocks on their way suffice
    for (int32_t group = 0; group < cache_.groups(); ++group) {
      const int64_t missing = BlocksMissing(sequence, group, end) - cache_.free_blocks(group);
      if (missing <= 0) continue;
      short_groups.push_back(group);
      will_drain = will_drain && Draining(group) - draft.claimed[group] >= missing;
    }
    if (short_groups.empty()) break;
    draft.short_of_blocks = true;
    if (will_drain) {
      for (int32_t group : short_groups)
        draft.claimed[group] += BlocksMissing(sequence, group, end) - cache_.free_blocks(group);
      return false;
    }
    Sequence* const victim = ChooseVictim(draft, sequence, short_groups);
    if (victim == nullptr) return false;
    std::erase(draft.protection, victim);
    Preempt(*victim);
  }
  for (int32_t group = 0; group < cache_.groups(); ++group)
    for (int64_t i = BlocksMissing(sequence, group, end); i > 0; --i)
      cache_.Append(group, sequence.tables[group]);
  return true;
}

// Blocks that come free once the steps in flight are applied: those of draining sequences, and
// those that fall out of the windows of running ones.
int64_t SchedulerImpl::Draining(int32_t group) const {
  int64_t blocks = 0;
  const auto count = [&](const Sequence& sequence, size_t end) {
    const BlockTable& table = sequence.tables[group];
    for (size_t i = table.first_live; i < end; ++i)
      blocks += cache_.references(group, table.ids[i]) == 1 ? 1 : 0;
  };
  for (const Sequence* sequence : draining_) count(*sequence, sequence->tables[group].ids.size());
  if (cache_.window(group) == 0) return blocks;
  for (const Sequence* sequence : running_)
    if (sequence->steps_in_flight > 0)
      count(*sequence, std::min<size_t>(cache_.FirstNeeded(group, sequence->planned),
                                        sequence->tables[group].ids.size()));
  return blocks;
}

Sequence* SchedulerImpl::ChooseVictim(const Draft& draft, const Sequence& needy,
                                      const std::vector<int32_t>& short_groups) const {
  Sequence* holder = nullptr;
  for (auto it = draft.protection.rbegin(); it != draft.protection.rend() && *it != &needy; ++it) {
    if (draft.planned.contains((*it)->request.id)) continue;
    // Blocks shared with others come free only when the last of them is preempted.
    if (WouldFree(**it, short_groups)) return *it;
    const bool holds = std::ranges::any_of(
        short_groups, [&](int32_t group) { return (*it)->tables[group].live() > 0; });
    if (holder == nullptr && holds) holder = *it;
  }
  return holder;
}

bool SchedulerImpl::WouldFree(const Sequence& sequence, const std::vector<int32_t>& groups) const {
  return std::ranges::any_of(groups, [&](int32_t group) {
    const BlockTable& table = sequence.tables[group];
    return std::any_of(table.ids.begin() + table.first_live, table.ids.end(),
                       [&](BlockId block) { return cache_.references(group, block) == 1; });
  });
}

void SchedulerImpl::Preempt(Sequence& sequence) {
  SHOAL_CHECK(sequence.state == SequenceState::kRunning);
  ++counters_.preemptions;
  LeaveRunning(sequence);
  LeaveExecutor(sequence);
  Enqueue(sequence);  // with its old rank: before everyone who came later
  StartDraining(sequence);
}

}  // namespace shoal::scheduler
