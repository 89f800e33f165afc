// SPDX-License-Identifier: Apache-2.0
#include "scheduler/sibling_groups.h"

#include <gtest/gtest.h>

namespace shoal::scheduler {
namespace {

Sequence Sibling(uint64_t id, uint64_t key) {
  Sequence sequence;
  sequence.request.id = SequenceId(id);
  sequence.request.group_key = key;
  sequence.rank.id = sequence.request.id;
  return sequence;
}

TEST(SiblingGroups, ParksAllButTheFirstUntilItsPromptIsCached) {
  Sequence first = Sibling(1, 9);
  Sequence second = Sibling(2, 9);
  Sequence third = Sibling(3, 9);
  Sequence stranger = Sibling(4, 8);
  Sequence single = Sibling(5, 0);
  SiblingGroups groups;
  EXPECT_FALSE(groups.Join(first));
  EXPECT_TRUE(groups.Join(second));
  EXPECT_TRUE(groups.Join(third));
  EXPECT_FALSE(groups.Join(stranger));
  EXPECT_FALSE(groups.Join(single));
  EXPECT_EQ(groups.parked(), 2);
  EXPECT_EQ(groups.Cached(first), std::vector<Sequence*>({&second, &third}));
  Sequence late = Sibling(6, 9);
  EXPECT_FALSE(groups.Join(late));
  EXPECT_EQ(groups.parked(), 0);
}

TEST(SiblingGroups, TheNextTakesThePlaceOfAFirstThatEndsEarly) {
  Sequence first = Sibling(1, 9);
  Sequence second = Sibling(2, 9);
  Sequence third = Sibling(3, 9);
  SiblingGroups groups;
  for (Sequence* sequence : {&first, &second, &third}) groups.Join(*sequence);
  EXPECT_EQ(groups.Left(first), std::vector<Sequence*>({&second}));
  EXPECT_EQ(groups.parked(), 1);
  EXPECT_TRUE(groups.Left(third).empty());
  EXPECT_EQ(groups.parked(), 0);
  EXPECT_TRUE(groups.Left(second).empty());
  EXPECT_TRUE(groups.empty());
}

TEST(SiblingGroups, ANewFirstParksThoseWhoJoinAndAnEmptyGroupStartsAfresh) {
  Sequence first = Sibling(1, 9);
  Sequence second = Sibling(2, 9);
  SiblingGroups groups;
  groups.Join(first);
  groups.Join(second);
  ASSERT_EQ(groups.Left(first).size(), 1U);
  Sequence third = Sibling(3, 9);
  EXPECT_TRUE(groups.Join(third));
  EXPECT_TRUE(groups.Left(third).empty());
  EXPECT_TRUE(groups.Left(second).empty());
  Sequence fourth = Sibling(4, 9);
  EXPECT_FALSE(groups.Join(fourth));
}

}  // namespace
}  // namespace shoal::scheduler
