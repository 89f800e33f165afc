// SPDX-License-Identifier: Apache-2.0
#include "scheduler/prefix_index.h"

#include <algorithm>

#include "absl/strings/str_cat.h"
#include "base/check.h"

namespace shoal::scheduler {

PrefixIndex::PrefixIndex(int64_t blocks) : hash_of_block_(static_cast<size_t>(blocks)) {
  SHOAL_CHECK(blocks >= 1);
}

std::optional<BlockId> PrefixIndex::Find(const BlockContent& content) const {
  const auto found = entries_.find(content.hash);
  if (found == entries_.end()) return std::nullopt;
  const Entry& entry = found->second;
  if (entry.parent != content.parent) return std::nullopt;
  if (!std::ranges::equal(entry.tokens, content.tokens)) return std::nullopt;
  return entry.block;
}

bool PrefixIndex::Insert(const BlockContent& content, BlockId block) {
  SHOAL_CHECK(block >= 0);
  SHOAL_CHECK(static_cast<size_t>(block) < hash_of_block_.size());
  SHOAL_CHECK(!hash_of_block_[block].has_value());
  const auto [place, inserted] = entries_.try_emplace(content.hash);
  if (!inserted) return false;
  place->second.block = block;
  place->second.parent = content.parent;
  place->second.tokens.assign(content.tokens.begin(), content.tokens.end());
  hash_of_block_[block] = content.hash;
  return true;
}

BlockHash PrefixIndex::Remove(BlockId block) {
  SHOAL_CHECK(block >= 0);
  SHOAL_CHECK(static_cast<size_t>(block) < hash_of_block_.size());
  SHOAL_CHECK(hash_of_block_[block].has_value());
  const BlockHash hash = *hash_of_block_[block];
  hash_of_block_[block].reset();
  const size_t erased = entries_.erase(hash);
  SHOAL_CHECK(erased == 1);
  return hash;
}

absl::Status PrefixIndex::CheckInvariants(const BlockPool& pool) const {
  int64_t known = 0;
  for (BlockId block = 0; block < pool.blocks(); ++block) {
    const std::optional<BlockHash>& hash = hash_of_block_[block];
    if (hash.has_value() != pool.cached(block))
      return absl::InternalError(
          absl::StrCat("block ", block, ": the index and the pool disagree whether it is cached"));
    if (!hash.has_value()) continue;
    ++known;
    const auto found = entries_.find(*hash);
    if (found == entries_.end() || found->second.block != block)
      return absl::InternalError(absl::StrCat("block ", block, " is not found by its hash"));
  }
  if (known != size())
    return absl::InternalError(absl::StrCat("index of ", size(), " hashes for ", known, " blocks"));
  return absl::OkStatus();
}

}  // namespace shoal::scheduler
