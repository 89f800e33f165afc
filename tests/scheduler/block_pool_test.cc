// SPDX-License-Identifier: Apache-2.0
#include "scheduler/block_pool.h"

#include <gtest/gtest.h>

namespace shoal::scheduler {
namespace {

TEST(BlockPool, HandsOutEveryBlockOnceInAscendingOrder) {
  BlockPool pool(4);
  for (BlockId block = 0; block < 4; ++block) {
    EXPECT_EQ(pool.Take().block, block);
    EXPECT_EQ(pool.references(block), 1);
  }
  EXPECT_EQ(pool.free_blocks(), 0);
  EXPECT_TRUE(pool.CheckInvariants().ok());
}

TEST(BlockPool, EvictsLeastRecentlyUsedBeforeFailing) {
  BlockPool pool(3);
  for (int i = 0; i < 3; ++i) pool.MarkCached(pool.Take().block);
  pool.Release(1);
  pool.Release(2);
  pool.Release(0);
  EXPECT_EQ(pool.free_blocks(), 3);
  for (BlockId expected : {1, 2, 0}) {
    const BlockPool::Taken taken = pool.Take();
    EXPECT_EQ(taken.block, expected);
    EXPECT_TRUE(taken.was_cached);
    EXPECT_FALSE(pool.cached(taken.block));
  }
}

TEST(BlockPool, TakesPlainFreeBlocksBeforeCachedOnes) {
  BlockPool pool(3);
  for (int i = 0; i < 3; ++i) pool.Take();
  pool.MarkCached(0);
  pool.Release(0);
  pool.Release(2);
  EXPECT_EQ(pool.Take().block, 2);
  EXPECT_EQ(pool.Take().block, 0);
}

TEST(BlockPool, UsingACachedBlockAgainMakesItTheLatest) {
  BlockPool pool(2);
  for (int i = 0; i < 2; ++i) pool.MarkCached(pool.Take().block);
  pool.Release(0);
  pool.Release(1);
  pool.AddReference(0);
  EXPECT_EQ(pool.free_blocks(), 1);
  pool.Release(0);
  EXPECT_EQ(pool.Take().block, 1);
  EXPECT_EQ(pool.Take().block, 0);
}

TEST(BlockPool, ASharedBlockIsFreeOnlyAfterItsLastRelease) {
  BlockPool pool(1);
  const BlockId block = pool.Take().block;
  pool.AddReference(block);
  pool.Release(block);
  EXPECT_EQ(pool.free_blocks(), 0);
  pool.Release(block);
  EXPECT_EQ(pool.free_blocks(), 1);
  EXPECT_TRUE(pool.CheckInvariants().ok());
}

TEST(BlockPoolDeathTest, RefusesMisuse) {
  BlockPool pool(1);
  EXPECT_DEATH(pool.Release(0), "check failed");
  EXPECT_DEATH(pool.AddReference(0), "check failed");
  EXPECT_DEATH(pool.MarkCached(0), "check failed");
  pool.Take();
  EXPECT_DEATH(pool.Take(), "check failed");
  EXPECT_DEATH(pool.Release(1), "check failed");
}

}  // namespace
}  // namespace shoal::scheduler
