// SPDX-License-Identifier: Apache-2.0
// PrefixIndex: which block of one KV group holds the KV of which chained hash. A hit is trusted
// only after its own tokens and its parent's hash have been compared, so two prompts never share KV
// by a hash that meets. Not thread-safe.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <vector>

#include "absl/container/flat_hash_map.h"
#include "absl/status/status.h"
#include "scheduler/block_pool.h"
#include "scheduler/types/block_hash.h"
#include "scheduler/types/ids.h"

namespace shoal::scheduler {

// What one full block holds: its tokens behind everything that `parent` stands for.
struct BlockContent {
  BlockHash hash;
  BlockHash parent;
  std::span<const TokenId> tokens;  // one block's worth; not kept past the call
};

class PrefixIndex {
 public:
  explicit PrefixIndex(int64_t blocks);

  // The block with this content, if one is known.
  std::optional<BlockId> Find(const BlockContent& content) const;
  // Remembers that `block` holds `content`. False, and nothing changes, when a block with this hash
  // is known already. `block` must not be in the index.
  bool Insert(const BlockContent& content, BlockId block);
  // Forgets the block, which must be in the index; returns its hash.
  BlockHash Remove(BlockId block);
  bool Contains(const BlockHash& hash) const { return entries_.contains(hash); }
  int64_t size() const { return static_cast<int64_t>(entries_.size()); }

  // OK when the two directions of the index agree with each other and with the pool's marks.
  absl::Status CheckInvariants(const BlockPool& pool) const;

 private:
  struct Entry {
    BlockId block = -1;
    BlockHash parent;
    std::vector<TokenId> tokens;
  };
  absl::flat_hash_map<BlockHash, Entry> entries_;        // never iterated to decide anything
  std::vector<std::optional<BlockHash>> hash_of_block_;  // by block id
};

}  // namespace shoal::scheduler
