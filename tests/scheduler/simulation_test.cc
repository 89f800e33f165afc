// SPDX-License-Identifier: Apache-2.0
#include "scheduler/simulation.h"

#include <gtest/gtest.h>

namespace shoal::scheduler {
namespace {

constexpr int kSeeds = 300;
constexpr int kSteps = 400;

TEST(SchedulerSimulation, EveryRequestGetsWhatItWouldGetAlone) {
  SchedulerStats sum;
  std::map<FinishReason, int64_t> finishes;
  int64_t refused = 0;
  int64_t references = 0;
  for (uint64_t seed = 1; seed <= kSeeds; ++seed) {
    Simulation simulation(seed);
    const absl::Status status = simulation.Run(kSteps);
    ASSERT_TRUE(status.ok()) << "seed " << seed << ": " << status;
    sum.preemptions += simulation.stats().preemptions;
    sum.dropped_results += simulation.stats().dropped_results;
    sum.prefix_hit_tokens += simulation.stats().prefix_hit_tokens;
    refused += simulation.refused();
    references += simulation.references();
    for (const auto& [reason, count] : simulation.finishes()) finishes[reason] += count;
  }
  // The cases that matter were met.
  EXPECT_GT(sum.preemptions, 100);
  EXPECT_GT(sum.dropped_results, 100);
  EXPECT_GT(sum.prefix_hit_tokens, 1000);
  EXPECT_GT(refused, 100);
  EXPECT_GT(references, 1000);
  for (FinishReason reason : {FinishReason::kStop, FinishReason::kLength, FinishReason::kCancelled,
                              FinishReason::kDeadline})
    EXPECT_GT(finishes[reason], 50) << Name(reason);
}

TEST(SchedulerSimulation, TheSameSeedGivesTheSamePlans) {
  for (uint64_t seed = 1001; seed <= 1030; ++seed) {
    Simulation first(seed);
    Simulation second(seed);
    ASSERT_TRUE(first.Run(kSteps).ok()) << "seed " << seed;
    ASSERT_TRUE(second.Run(kSteps).ok()) << "seed " << seed;
    ASSERT_FALSE(first.digests().empty());
    EXPECT_EQ(first.digests(), second.digests()) << "seed " << seed;
  }
}

}  // namespace
}  // namespace shoal::scheduler
