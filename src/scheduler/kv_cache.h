// SPDX-License-Identifier: Apache-2.0
// KvCache: the block pools and prefix indexes of all KV groups, and the block tables that sequences
// hold over them. Decides which blocks a prefix hit may reuse. Not thread-safe.
//
// A hit of L tokens (whole blocks) needs, in a group that keeps everything, the blocks of all L
// tokens; in a group with window W, those of the last W - 1 (a query sees itself and W - 1 earlier
// tokens).
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "absl/status/status.h"
#include "scheduler/block_pool.h"
#include "scheduler/prefix_index.h"
#include "scheduler/scheduler.h"
#include "scheduler/types/block_hash.h"

namespace shoal::scheduler {

// One sequence's blocks of one group, by position / block_tokens. Entries before `first_live` were
// given back (or never held): they are never read, only keep the places.
struct BlockTable {
  std::vector<BlockId> ids;
  int32_t first_live = 0;
  int32_t told = 0;  // entries that a plan has carried to the executor
  int64_t live() const { return static_cast<int64_t>(ids.size()) - first_live; }
};

// The tokens of a sequence with the hashes of its full blocks, as far as known.
struct HashedTokens {
  BlockHash root;
  std::span<const BlockHash> hashes;
  std::span<const TokenId> tokens;
};

struct PrefixHit {
  int32_t blocks = 0;  // the hit in blocks: of all groups alike
  // Per group the table a sequence starts with; holds no references yet.
  std::vector<BlockTable> tables;
};

class KvCache {
 public:
  // Options have been validated.
  explicit KvCache(const SchedulerOptions& options);

  int32_t groups() const { return static_cast<int32_t>(groups_.size()); }
  int32_t window(int32_t group) const { return At(group).spec.window; }
  int64_t blocks(int32_t group) const { return At(group).spec.blocks; }
  int64_t free_blocks(int32_t group) const { return At(group).pool.free_blocks(); }
  int32_t references(int32_t group, BlockId block) const {
    return At(group).pool.references(block);
  }

  // The first block index that a query at `position` still reads.
  int32_t FirstNeeded(int32_t group, int32_t position) const;
  // Blocks that cover `tokens` positions from 0.
  int32_t BlocksFor(int64_t tokens) const;

  // Longest usable hit of at most `blocks_max` blocks. O(blocks_max).
  PrefixHit Lookup(const HashedTokens& sequence, int32_t blocks_max) const;
  // Whether block `index` of the sequence is known in every group: a hit may have grown.
  bool Knows(const HashedTokens& sequence, int32_t index) const;
  // Blocks of the hit that are free now, so that holding it makes them unavailable.
  int64_t FreeInHit(const PrefixHit& hit, int32_t group) const;
  // Takes the references of a hit's tables.
  void Hold(const PrefixHit& hit);

  // Appends a fresh block to the table; the group must have a free one.
  void Append(int32_t group, BlockTable& table);
  // Gives back what lies wholly before what a query at `position` reads.
  void ReleaseBefore(int32_t group, int32_t position, BlockTable& table);
  // Gives everything back, last block first (so that heads of prefixes live longest).
  void ReleaseAll(int32_t group, BlockTable& table);
  // Remembers full block `index` of the sequence as reusable.
  void Store(const HashedTokens& sequence, int32_t index, std::span<const BlockTable> tables);

  // Events since the last call: those of the first group that keeps everything (or the first one).
  KvEvents TakeEvents();
  absl::Status CheckInvariants(std::span<const std::vector<int32_t>> references) const;

 private:
  struct Group {
    KvGroupSpec spec;
    BlockPool pool;
    PrefixIndex index;
  };
  const Group& At(int32_t group) const;
  Group& At(int32_t group);
  BlockContent ContentOf(const HashedTokens& sequence, int32_t index) const;

  const int32_t block_tokens_;
  std::vector<Group> groups_;
  int32_t event_group_ = 0;
  KvEvents events_;
};

}  // namespace shoal::scheduler
