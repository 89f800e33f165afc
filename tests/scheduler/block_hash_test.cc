// SPDX-License-Identifier: Apache-2.0
#include "scheduler/types/block_hash.h"

#include <gtest/gtest.h>

#include <set>

namespace shoal::scheduler {
namespace {

TEST(BlockHash, HasKnownValues) {
  // Router and worker of different versions must agree: these never change.
  const BlockHash root = NamespaceRoot("weights", "");
  const std::vector<TokenId> tokens = {1, 2, 3, 4};
  const BlockHash block = ChainHash(root, tokens);
  EXPECT_EQ(root.high, 10863934927092150690ULL);
  EXPECT_EQ(block.high, 5334219212986530672ULL);
  EXPECT_EQ(block.low, 3219800464613162122ULL);
}

TEST(BlockHash, NamespacesNeverMeet) {
  std::set<BlockHash> roots;
  roots.insert(NamespaceRoot("a", ""));
  roots.insert(NamespaceRoot("", "a"));
  roots.insert(NamespaceRoot("a", "b"));
  roots.insert(NamespaceRoot("ab", ""));
  roots.insert(NamespaceRoot("b", "a"));
  EXPECT_EQ(roots.size(), 5U);
}

TEST(BlockHash, CoversEverythingBeforeTheBlockAndOnlyFullBlocks) {
  const BlockHash root = NamespaceRoot("weights", "tenant");
  std::vector<TokenId> tokens(11);
  for (size_t i = 0; i < tokens.size(); ++i) tokens[i] = static_cast<TokenId>(i);
  const std::vector<BlockHash> hashes = ChainHashes(root, tokens, 4);
  ASSERT_EQ(hashes.size(), 2U);
  EXPECT_EQ(hashes[1], ChainHash(hashes[0], std::span(tokens).subspan(4, 4)));
  tokens[0] = 100;
  const std::vector<BlockHash> others = ChainHashes(root, tokens, 4);
  EXPECT_NE(hashes[0], others[0]);
  EXPECT_NE(hashes[1], others[1]);
}

}  // namespace
}  // namespace shoal::scheduler
