// SPDX-License-Identifier: Apache-2.0
#include "scheduler/prefix_index.h"

#include <gtest/gtest.h>

namespace shoal::scheduler {
namespace {

const std::vector<TokenId> kTokens = {1, 2, 3, 4};
const BlockHash kRoot{.high = 7, .low = 8};

BlockContent Content(const std::vector<TokenId>& tokens) {
  return {.hash = ChainHash(kRoot, tokens), .parent = kRoot, .tokens = tokens};
}

TEST(PrefixIndex, FindsWhatWasInserted) {
  PrefixIndex index(4);
  EXPECT_FALSE(index.Find(Content(kTokens)).has_value());
  EXPECT_TRUE(index.Insert(Content(kTokens), 2));
  EXPECT_EQ(index.Find(Content(kTokens)), 2);
  EXPECT_EQ(index.size(), 1);
}

TEST(PrefixIndex, AHashThatMeetsIsNoHitWhenTokensOrParentDiffer) {
  PrefixIndex index(4);
  ASSERT_TRUE(index.Insert(Content(kTokens), 2));
  BlockContent other = Content(kTokens);
  const std::vector<TokenId> tokens = {1, 2, 3, 5};
  other.tokens = tokens;
  EXPECT_FALSE(index.Find(other).has_value());
  BlockContent elsewhere = Content(kTokens);
  elsewhere.parent.low = 9;
  EXPECT_FALSE(index.Find(elsewhere).has_value());
}

TEST(PrefixIndex, KeepsTheFirstBlockOfEqualContent) {
  PrefixIndex index(4);
  EXPECT_TRUE(index.Insert(Content(kTokens), 2));
  EXPECT_FALSE(index.Insert(Content(kTokens), 3));
  EXPECT_EQ(index.Find(Content(kTokens)), 2);
  EXPECT_EQ(index.Remove(2), Content(kTokens).hash);
  EXPECT_FALSE(index.Find(Content(kTokens)).has_value());
  EXPECT_TRUE(index.Insert(Content(kTokens), 3));
}

TEST(PrefixIndex, TheCheckerSeesAnIndexThatDisagreesWithThePool) {
  PrefixIndex index(1);
  BlockPool pool(1);
  pool.Take();
  ASSERT_TRUE(index.Insert(Content(kTokens), 0));
  EXPECT_FALSE(index.CheckInvariants(pool).ok());
  pool.MarkCached(0);
  EXPECT_TRUE(index.CheckInvariants(pool).ok());
}

}  // namespace
}  // namespace shoal::scheduler
