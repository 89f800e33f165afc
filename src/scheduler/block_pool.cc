// SPDX-License-Identifier: Apache-2.0
#include "scheduler/block_pool.h"

#include <limits>

#include "absl/strings/str_cat.h"
#include "base/check.h"

namespace shoal::scheduler {

BlockPool::BlockPool(int64_t blocks) {
  SHOAL_CHECK(blocks >= 1);
  SHOAL_CHECK(blocks <= std::numeric_limits<BlockId>::max());
  nodes_.resize(static_cast<size_t>(blocks));
  for (BlockId block = 0; block < blocks; ++block) LinkBack(block);
}

const BlockPool::Node& BlockPool::At(BlockId block) const {
  SHOAL_CHECK(block >= 0);
  SHOAL_CHECK(static_cast<size_t>(block) < nodes_.size());
  return nodes_[static_cast<size_t>(block)];
}

BlockPool::Node& BlockPool::At(BlockId block) {
  return const_cast<Node&>(static_cast<const BlockPool*>(this)->At(block));
}

BlockPool::Taken BlockPool::Take() {
  SHOAL_CHECK(free_ > 0);
  const BlockId block = head_;
  Unlink(block);
  Node& node = At(block);
  SHOAL_CHECK(node.references == 0);
  const Taken taken{.block = block, .was_cached = node.cached};
  node.references = 1;
  node.cached = false;
  return taken;
}

void BlockPool::AddReference(BlockId block) {
  Node& node = At(block);
  if (node.references == 0) {
    SHOAL_CHECK(node.cached);
    Unlink(block);
  }
  SHOAL_CHECK(node.references < std::numeric_limits<int32_t>::max());
  ++node.references;
}

void BlockPool::Release(BlockId block) {
  Node& node = At(block);
  SHOAL_CHECK(node.references > 0);
  if (--node.references > 0) return;
  if (node.cached) {
    LinkBack(block);
  } else {
    LinkFront(block);
  }
}

void BlockPool::MarkCached(BlockId block) {
  Node& node = At(block);
  SHOAL_CHECK(node.references > 0);
  SHOAL_CHECK(!node.cached);
  node.cached = true;
}

void BlockPool::LinkFront(BlockId block) {
  Node& node = At(block);
  SHOAL_CHECK(!node.listed);
  node.listed = true;
  node.previous = -1;
  node.next = head_;
  if (head_ >= 0) At(head_).previous = block;
  head_ = block;
  if (tail_ < 0) tail_ = block;
  ++free_;
}

void BlockPool::LinkBack(BlockId block) {
  Node& node = At(block);
  SHOAL_CHECK(!node.listed);
  node.listed = true;
  node.previous = tail_;
  node.next = -1;
  if (tail_ >= 0) At(tail_).next = block;
  tail_ = block;
  if (head_ < 0) head_ = block;
  ++free_;
}

void BlockPool::Unlink(BlockId block) {
  Node& node = At(block);
  SHOAL_CHECK(node.listed);
  if (node.previous >= 0) At(node.previous).next = node.next;
  if (node.next >= 0) At(node.next).previous = node.previous;
  if (head_ == block) head_ = node.next;
  if (tail_ == block) tail_ = node.previous;
  node.listed = false;
  node.previous = node.next = -1;
  --free_;
}

absl::Status BlockPool::CheckInvariants() const {
  int64_t listed = 0;
  bool cached_seen = false;
  BlockId previous = -1;
  for (BlockId block = head_; block >= 0; block = At(block).next) {
    const Node& node = At(block);
    if (++listed > blocks()) return absl::InternalError("the free list has a cycle");
    if (!node.listed || node.previous != previous)
      return absl::InternalError(absl::StrCat("free block ", block, " is linked wrongly"));
    if (node.references != 0)
      return absl::InternalError(absl::StrCat("block ", block, " is free and referenced"));
    if (cached_seen && !node.cached)
      return absl::InternalError(absl::StrCat("plain free block ", block, " behind a cached one"));
    cached_seen = cached_seen || node.cached;
    previous = block;
  }
  if (previous != tail_) return absl::InternalError("the free list does not end at its tail");
  if (listed != free_)
    return absl::InternalError(absl::StrCat("free list of ", listed, " blocks, count ", free_));
  int64_t unreferenced = 0;
  for (const Node& node : nodes_) unreferenced += node.references == 0 ? 1 : 0;
  if (unreferenced != free_)
    return absl::InternalError(absl::StrCat(unreferenced - free_, " blocks are lost"));
  return absl::OkStatus();
}

}  // namespace shoal::scheduler
