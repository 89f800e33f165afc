// SPDX-License-Identifier: Apache-2.0
// BlockPool: reference counts and reuse order of one KV group's blocks. It knows ids only; the
// bytes are the executor's and the meaning of a cached block is the prefix index's.
//
// A block is referenced (count >= 1), plain free, or cached free (content still useful). Taking a
// block uses plain free ones first, then the cached one that was given back longest ago. All
// operations are O(1); the order is a function of the calls alone. Not thread-safe.
#pragma once

#include <cstdint>
#include <vector>

#include "absl/status/status.h"
#include "scheduler/types/ids.h"

namespace shoal::scheduler {

class BlockPool {
 public:
  // blocks >= 1. At first every block is plain free, to be taken in ascending order.
  explicit BlockPool(int64_t blocks);

  struct Taken {
    BlockId block = -1;
    bool was_cached = false;  // the caller must forget what it knew of the content
  };
  // Takes a block with one reference and without the cached mark. free_blocks() must be positive.
  Taken Take();
  // One more reference to a block that is referenced or cached free.
  void AddReference(BlockId block);
  // Gives one reference back. At zero the block becomes free, cached or plain as marked.
  void Release(BlockId block);
  // Marks a referenced block's content as worth keeping after its last reference is gone.
  void MarkCached(BlockId block);

  int32_t references(BlockId block) const { return At(block).references; }
  bool cached(BlockId block) const { return At(block).cached; }
  int64_t blocks() const { return static_cast<int64_t>(nodes_.size()); }
  // Plain and cached free ones.
  int64_t free_blocks() const { return free_; }

  // OK when the free list and the counts agree.
  absl::Status CheckInvariants() const;

 private:
  struct Node {
    int32_t references = 0;
    bool cached = false;
    bool listed = false;
    // Neighbours in the free list while listed.
    BlockId previous = -1;
    BlockId next = -1;
  };
  const Node& At(BlockId block) const;
  Node& At(BlockId block);
  void LinkFront(BlockId block);
  void LinkBack(BlockId block);
  void Unlink(BlockId block);

  std::vector<Node> nodes_;
  BlockId head_ = -1;  // taken next
  BlockId tail_ = -1;  // given back most recently among the cached
  int64_t free_ = 0;
};

}  // namespace shoal::scheduler
