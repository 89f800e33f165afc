// SPDX-License-Identifier: Apache-2.0
// What is reused of KV that was computed before, and what is not.
#include <gtest/gtest.h>

#include "scheduler/driver.h"

namespace shoal::scheduler {
namespace {

TEST(Scheduler, AFullPrefixHitStillRunsTheLastToken) {
  Driver driver(Options(/*blocks=*/100));
  const Request first = Prompt(1, 32, 4);
  Request again = first;
  again.id = SequenceId(2);
  ASSERT_TRUE(driver.Submit(first).ok());
  driver.RunUntilIdle(100);
  ASSERT_TRUE(driver.Submit(again).ok());
  const StepPlan plan = driver.Plan();
  ASSERT_EQ(plan.sub_plans.size(), 1U);
  EXPECT_EQ(plan.sub_plans[0].slices[0].first_position, 28);
  EXPECT_EQ(plan.tokens(), 4);
  driver.Apply();
  driver.RunUntilIdle(100);
  EXPECT_EQ(driver.output(2).cached_tokens, 28);
  EXPECT_EQ(driver.output(2).tokens, driver.output(1).tokens);
}

TEST(Scheduler, ACancelledRequestLeavesItsComputedPrefixReusable) {
  Driver driver(Options(/*blocks=*/100));
  const Request first = Prompt(1, 40, 50);
  ASSERT_TRUE(driver.Submit(first).ok());
  for (int step = 0; step < 3; ++step) driver.Step();
  driver.scheduler().Cancel(SequenceId(1));
  driver.RunUntilIdle(10);
  EXPECT_EQ(driver.output(1).finish, FinishReason::kCancelled);
  Request longer = Prompt(2, 60, 1);
  ASSERT_TRUE(driver.Submit(longer).ok());
  driver.RunUntilIdle(10);
  EXPECT_EQ(driver.output(2).cached_tokens, 40);
}

TEST(Scheduler, AnotherNamespaceSharesNothing) {
  Driver driver(Options(/*blocks=*/100));
  ASSERT_TRUE(driver.Submit(Prompt(1, 40, 1)).ok());
  driver.RunUntilIdle(10);
  Request other = Prompt(2, 40, 1);
  other.cache_namespace = "tenant";
  ASSERT_TRUE(driver.Submit(other).ok());
  driver.RunUntilIdle(10);
  EXPECT_EQ(driver.output(2).cached_tokens, 0);
}

TEST(Scheduler, SiblingsComputeTheirSharedPromptOnce) {
  Driver driver(Options(/*blocks=*/200));
  for (uint64_t id = 1; id <= 4; ++id) {
    Request request = Prompt(id, 201, 3);
    request.group_key = 99;
    request.sampling.choice = static_cast<uint32_t>(id);
    ASSERT_TRUE(driver.Submit(request).ok());
  }
  int64_t tokens = 0;
  while (!driver.scheduler().idle()) {
    tokens += driver.Plan().tokens();
    driver.Apply();
  }
  EXPECT_EQ(driver.output(1).cached_tokens, 0);
  for (uint64_t id = 2; id <= 4; ++id) EXPECT_EQ(driver.output(id).cached_tokens, 200);
  // One whole prompt, three last tokens, and two decodes for each.
  EXPECT_EQ(tokens, 201 + 3 + 4 * 2);
}

TEST(Scheduler, SiblingsGoOnWhenTheFirstIsCancelledBeforeItsPromptIsDone) {
  Driver driver(Options(/*blocks=*/200));
  for (uint64_t id = 1; id <= 3; ++id) {
    Request request = Prompt(id, 201, 2);
    request.group_key = 99;
    ASSERT_TRUE(driver.Submit(request).ok());
  }
  driver.Step();
  driver.scheduler().Cancel(SequenceId(1));
  driver.RunUntilIdle(50);
  EXPECT_EQ(driver.output(2).finish, FinishReason::kLength);
  EXPECT_EQ(driver.output(3).cached_tokens, 200);
}

TEST(Scheduler, PromptLogprobsAreTheSameWithAWarmCacheAndAfterPreemption) {
  Driver driver(Options(/*blocks=*/22));
  Request scored = Prompt(1, 40, 0);
  scored.sampling.prompt_logprobs = 0;
  ASSERT_TRUE(driver.Submit(scored).ok());
  driver.RunUntilIdle(20);
  EXPECT_EQ(driver.output(1).finish, FinishReason::kLength);
  EXPECT_TRUE(driver.output(1).tokens.empty());
  ASSERT_EQ(driver.output(1).prompt.size(), 39U);

  scored.id = SequenceId(2);
  ASSERT_TRUE(driver.Submit(scored).ok());
  driver.RunUntilIdle(20);
  EXPECT_EQ(driver.output(2).prompt, driver.output(1).prompt);
  EXPECT_EQ(driver.output(2).cached_tokens, 0);

  // Two that grow beyond the pool: one of them is preempted after its prompt was delivered.
  for (uint64_t id = 3; id <= 4; ++id) {
    scored.id = SequenceId(id);
    scored.stop.max_tokens = 20;
    ASSERT_TRUE(driver.Submit(scored).ok());
  }
  driver.RunUntilIdle(300);
  for (uint64_t id = 3; id <= 4; ++id) EXPECT_EQ(driver.output(id).prompt, driver.output(1).prompt);
  EXPECT_EQ(driver.output(3).tokens.size(), 20U);
}

}  // namespace
}  // namespace shoal::scheduler
