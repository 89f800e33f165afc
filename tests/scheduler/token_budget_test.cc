// SPDX-License-Identifier: Apache-2.0
#include "scheduler/token_budget.h"

#include <gtest/gtest.h>

#include <numeric>
#include <random>

namespace shoal::scheduler {
namespace {

using Shares = std::vector<int32_t>;

TEST(TokenBudget, OnePromptGetsAllItCanUse) {
  EXPECT_EQ(ShareBudget(Shares{100}, 64), Shares({64}));
  EXPECT_EQ(ShareBudget(Shares{10}, 64), Shares({10}));
}

TEST(TokenBudget, AShortPromptBehindAHugeOneStartsAtOnce) {
  EXPECT_EQ(ShareBudget(Shares{20000, 10}, 512), Shares({502, 10}));
}

TEST(TokenBudget, TheFirstKeepsHalfAndTheShortestShareTheRest) {
  EXPECT_EQ(ShareBudget(Shares{900, 800, 20}, 100), Shares({50, 30, 20}));
}

TEST(TokenBudget, WhatTheFirstLeavesTheOthersGet) {
  EXPECT_EQ(ShareBudget(Shares{5, 800}, 100), Shares({5, 95}));
}

TEST(TokenBudget, NeverExceedsTheBudgetNorWastesIt) {
  std::mt19937 random(7);
  for (int round = 0; round < 2000; ++round) {
    Shares remaining(random() % 9);
    for (int32_t& tokens : remaining) tokens = static_cast<int32_t>(1 + random() % 300);
    const auto budget = static_cast<int32_t>(random() % 400);
    const Shares shares = ShareBudget(remaining, budget);
    ASSERT_EQ(shares.size(), remaining.size());
    for (size_t i = 0; i < shares.size(); ++i) {
      ASSERT_GE(shares[i], 0);
      ASSERT_LE(shares[i], remaining[i]);
    }
    const int32_t wanted = std::accumulate(remaining.begin(), remaining.end(), 0);
    ASSERT_EQ(std::accumulate(shares.begin(), shares.end(), 0), std::min(wanted, budget));
    if (!shares.empty()) {
      ASSERT_GE(shares[0], std::min(remaining[0], budget - budget / 2));
    }
  }
}

TEST(TokenBudget, NobodyGetsAnythingOfNothing) {
  EXPECT_EQ(ShareBudget(Shares{3, 4}, 0), Shares({0, 0}));
  EXPECT_TRUE(ShareBudget(Shares{}, 10).empty());
}

}  // namespace
}  // namespace shoal::scheduler
