// SPDX-License-Identifier: Apache-2.0
#include "scheduler/kv_cache.h"

#include <algorithm>
#include <limits>
#include <optional>
#include <utility>

#include "absl/strings/str_cat.h"
#include "base/check.h"
#include "base/status.h"

namespace shoal::scheduler {

KvCache::KvCache(const SchedulerOptions& options) : block_tokens_(options.block_tokens) {
  SHOAL_CHECK(block_tokens_ >= 1);
  SHOAL_CHECK(!options.groups.empty());
  for (const KvGroupSpec& spec : options.groups)
    groups_.push_back({spec, BlockPool(spec.blocks), PrefixIndex(spec.blocks)});
  const auto full = std::ranges::find(options.groups, 0, &KvGroupSpec::window);
  if (full != options.groups.end())
    event_group_ = static_cast<int32_t>(full - options.groups.begin());
}

const KvCache::Group& KvCache::At(int32_t group) const {
  SHOAL_CHECK(group >= 0);
  SHOAL_CHECK(static_cast<size_t>(group) < groups_.size());
  return groups_[static_cast<size_t>(group)];
}

KvCache::Group& KvCache::At(int32_t group) {
  return const_cast<Group&>(static_cast<const KvCache*>(this)->At(group));
}

int32_t KvCache::FirstNeeded(int32_t group, int32_t position) const {
  SHOAL_CHECK(position >= 0);
  const int32_t window = At(group).spec.window;
  if (window == 0) return 0;
  return std::max(0, position - (window - 1)) / block_tokens_;
}

int32_t KvCache::BlocksFor(int64_t tokens) const {
  SHOAL_CHECK(tokens >= 0);
  const int64_t blocks = (tokens + block_tokens_ - 1) / block_tokens_;
  SHOAL_CHECK(blocks <= std::numeric_limits<int32_t>::max());
  return static_cast<int32_t>(blocks);
}

BlockContent KvCache::ContentOf(const HashedTokens& sequence, int32_t index) const {
  SHOAL_CHECK(index >= 0);
  SHOAL_CHECK(static_cast<size_t>(index) < sequence.hashes.size());
  const size_t first = static_cast<size_t>(index) * static_cast<size_t>(block_tokens_);
  SHOAL_CHECK(first + static_cast<size_t>(block_tokens_) <= sequence.tokens.size());
  return {.hash = sequence.hashes[index],
          .parent = index == 0 ? sequence.root : sequence.hashes[index - 1],
          .tokens = sequence.tokens.subspan(first, static_cast<size_t>(block_tokens_))};
}

PrefixHit KvCache::Lookup(const HashedTokens& sequence, int32_t blocks_max) const {
  PrefixHit hit;
  hit.tables.resize(groups_.size());
  std::vector<std::vector<BlockId>> found(groups_.size());
  std::vector<int32_t> run(groups_.size(), 0);  // consecutive known blocks up to here
  bool chain = true;
  for (int32_t i = 0; i < blocks_max && chain; ++i) {
    const BlockContent content = ContentOf(sequence, i);
    bool usable = true;
    for (size_t g = 0; g < groups_.size(); ++g) {
      const std::optional<BlockId> block = groups_[g].index.Find(content);
      found[g].push_back(block.value_or(-1));
      run[g] = block.has_value() ? run[g] + 1 : 0;
      const int32_t first = FirstNeeded(static_cast<int32_t>(g), (i + 1) * block_tokens_);
      usable = usable && run[g] >= i + 1 - first;
      if (!block.has_value() && groups_[g].spec.window == 0) chain = false;
    }
    if (chain && usable) hit.blocks = i + 1;
  }
  for (size_t g = 0; g < groups_.size(); ++g) {
    const int32_t first = FirstNeeded(static_cast<int32_t>(g), hit.blocks * block_tokens_);
    BlockTable& table = hit.tables[g];
    table.first_live = std::min(first, hit.blocks);
    // Places before the window repeat a valid id: they are never read, but may be looked at.
    const BlockId filler = table.first_live < hit.blocks ? found[g][table.first_live] : 0;
    table.ids.assign(static_cast<size_t>(table.first_live), filler);
    table.ids.insert(table.ids.end(), found[g].begin() + table.first_live,
                     found[g].begin() + hit.blocks);
  }
  return hit;
}

bool KvCache::Knows(const HashedTokens& sequence, int32_t index) const {
  if (static_cast<size_t>(index) >= sequence.hashes.size()) return false;
  return std::ranges::all_of(
      groups_, [&](const Group& group) { return group.index.Contains(sequence.hashes[index]); });
}

int64_t KvCache::FreeInHit(const PrefixHit& hit, int32_t group) const {
  const BlockTable& table = hit.tables[group];
  return std::count_if(table.ids.begin() + table.first_live, table.ids.end(),
                       [&](BlockId block) { return references(group, block) == 0; });
}

void KvCache::Hold(const PrefixHit& hit) {
  for (int32_t g = 0; g < groups(); ++g) {
    const BlockTable& table = hit.tables[g];
    for (size_t i = table.first_live; i < table.ids.size(); ++i)
      At(g).pool.AddReference(table.ids[i]);
  }
}

void KvCache::Append(int32_t group, BlockTable& table) {
  Group& kv = At(group);
  const BlockPool::Taken taken = kv.pool.Take();
  if (taken.was_cached) {
    const BlockHash hash = kv.index.Remove(taken.block);
    if (group == event_group_) events_.removed.push_back(hash.event_hash());
  }
  table.ids.push_back(taken.block);
}

void KvCache::ReleaseBefore(int32_t group, int32_t position, BlockTable& table) {
  const int32_t first =
      std::min(FirstNeeded(group, position), static_cast<int32_t>(table.ids.size()));
  for (; table.first_live < first; ++table.first_live)
    At(group).pool.Release(table.ids[table.first_live]);
}

void KvCache::ReleaseAll(int32_t group, BlockTable& table) {
  for (size_t i = table.ids.size(); i > static_cast<size_t>(table.first_live); --i)
    At(group).pool.Release(table.ids[i - 1]);
  table = BlockTable{};
}

void KvCache::Store(const HashedTokens& sequence, int32_t index,
                    std::span<const BlockTable> tables) {
  SHOAL_CHECK(tables.size() == groups_.size());
  const BlockContent content = ContentOf(sequence, index);
  for (int32_t g = 0; g < groups(); ++g) {
    const BlockTable& table = tables[g];
    SHOAL_CHECK(static_cast<size_t>(index) < table.ids.size());
    if (index < table.first_live) continue;
    const BlockId block = table.ids[index];
    if (At(g).pool.cached(block)) continue;  // itself part of a hit
    if (!At(g).index.Insert(content, block)) continue;
    At(g).pool.MarkCached(block);
    if (g == event_group_) events_.stored.push_back(content.hash.event_hash());
  }
}

KvEvents KvCache::TakeEvents() { return std::exchange(events_, KvEvents{}); }

absl::Status KvCache::CheckInvariants(std::span<const std::vector<int32_t>> references) const {
  SHOAL_CHECK(references.size() == groups_.size());
  for (size_t g = 0; g < groups_.size(); ++g) {
    const std::string where = absl::StrCat("KV group ", g);
    const BlockPool& pool = groups_[g].pool;
    SHOAL_RETURN_IF_ERROR(Annotate(pool.CheckInvariants(), where));
    SHOAL_RETURN_IF_ERROR(Annotate(groups_[g].index.CheckInvariants(pool), where));
    for (BlockId block = 0; block < pool.blocks(); ++block) {
      if (pool.references(block) == references[g][block]) continue;
      return absl::InternalError(absl::StrCat(where, ": block ", block, " counts ",
                                              pool.references(block), " references, ",
                                              references[g][block], " sequences hold it"));
    }
  }
  return absl::OkStatus();
}

}  // namespace shoal::scheduler
