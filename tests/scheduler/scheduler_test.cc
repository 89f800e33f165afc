// SPDX-License-Identifier: Apache-2.0
// What the scheduler promises in single situations; the simulation covers their mixtures.
#include "scheduler/scheduler.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "scheduler/driver.h"
#include "scheduler/simulation.h"

namespace shoal::scheduler {
namespace {

TEST(Scheduler, RefusesWhatCanNeverRunAndServesTheRest) {
  Driver driver(Options(/*blocks=*/64));  // 256 tokens
  EXPECT_EQ(driver.Submit(Prompt(1, 2000, 10)).code(), absl::StatusCode::kInvalidArgument);
  EXPECT_EQ(driver.Submit(Prompt(2, 256, 10)).code(), absl::StatusCode::kInvalidArgument);
  EXPECT_EQ(driver.Submit(Prompt(3, 0, 10)).code(), absl::StatusCode::kInvalidArgument);
  EXPECT_TRUE(driver.Submit(Prompt(4, 10, 3)).ok());
  driver.RunUntilIdle(100);
  EXPECT_EQ(driver.output(4).finish, FinishReason::kLength);
  EXPECT_EQ(driver.output(4).tokens.size(), 3U);
}

TEST(Scheduler, ASequenceThatOutgrowsThePoolAloneEndsWithLength) {
  Driver driver(Options(/*blocks=*/16));
  ASSERT_TRUE(driver.Submit(Prompt(1, 60, 400)).ok());
  driver.RunUntilIdle(100);
  EXPECT_EQ(driver.output(1).finish, FinishReason::kLength);
  EXPECT_EQ(driver.output(1).tokens.size(), 4U);
  EXPECT_EQ(driver.scheduler().stats().preemptions, 0);
}

TEST(Scheduler, AFullWaitingQueueIsResourceExhausted) {
  SchedulerOptions options = Options(16);
  options.max_waiting = 2;
  Driver driver(options);
  EXPECT_TRUE(driver.Submit(Prompt(1, 10, 1)).ok());
  EXPECT_TRUE(driver.Submit(Prompt(2, 10, 1)).ok());
  EXPECT_EQ(driver.Submit(Prompt(3, 10, 1)).code(), absl::StatusCode::kResourceExhausted);
  driver.RunUntilIdle(100);
  EXPECT_TRUE(driver.Submit(Prompt(3, 10, 1)).ok());
}

TEST(Scheduler, AShortPromptBehindAHugePrefillStartsAtOnce) {
  Driver driver(Options(/*blocks=*/6000));
  ASSERT_TRUE(driver.Submit(Prompt(1, 20000, 1)).ok());
  driver.Step();
  ASSERT_TRUE(driver.Submit(Prompt(2, 10, 1)).ok());
  driver.RunUntilIdle(400);
  EXPECT_LE(driver.output(2).finished_at, 3);
  EXPECT_LE(driver.output(1).finished_at, 20000 / 64 + 4);
}

TEST(Scheduler, TwoPromptsThatDoNotFitTogetherRunOneAfterTheOther) {
  Driver driver(Options(/*blocks=*/100));
  ASSERT_TRUE(driver.Submit(Prompt(1, 240, 20)).ok());
  ASSERT_TRUE(driver.Submit(Prompt(2, 240, 20, /*first=*/1000)).ok());
  driver.RunUntilIdle(200);
  EXPECT_EQ(driver.output(1).finish, FinishReason::kLength);
  EXPECT_EQ(driver.output(2).finish, FinishReason::kLength);
  EXPECT_GT(driver.output(2).first_token_at, driver.output(1).finished_at);
  EXPECT_EQ(driver.scheduler().stats().preemptions, 0);
}

TEST(Scheduler, FillsEverySlotAsSoonAsItIsFree) {
  SchedulerOptions options = Options(/*blocks=*/1000);
  options.max_sequences = 4;
  Driver driver(options);
  for (uint64_t id = 1; id <= 4; ++id)
    ASSERT_TRUE(driver.Submit(Prompt(id, 100, 50, static_cast<TokenId>(1000 * id))).ok());
  for (int step = 0; step < 8; ++step) driver.Step();
  EXPECT_EQ(driver.scheduler().stats().running, 4);
  int64_t running_tokens = 0;
  for (uint64_t id = 1; id <= 4; ++id) {
    running_tokens += 100 + static_cast<int64_t>(driver.output(id).tokens.size());
  }
  EXPECT_EQ(driver.scheduler().stats().running_tokens, running_tokens);
  for (uint64_t id = 1; id <= 4; ++id) EXPECT_GE(driver.output(id).first_token_at, 0);
}

TEST(Scheduler, ScoresPromptsInAsManyStepsAsTheRowsOfLogitsNeed) {
  SchedulerOptions options = Options(/*blocks=*/1000);
  options.max_sequences = 4;
  options.max_logits_rows = 12;  // 8 beyond one a sequence; the shadow executor counts them
  Driver driver(options);
  Request scored = Prompt(1, 100, 2);
  scored.sampling.prompt_logprobs = 0;
  ASSERT_TRUE(driver.Submit(scored).ok());
  ASSERT_TRUE(driver.Submit(Prompt(2, 100, 2, /*first=*/1000)).ok());
  driver.RunUntilIdle(100);
  EXPECT_EQ(driver.output(1).prompt.size(), 99U);
  EXPECT_EQ(driver.output(1).tokens.size(), 2U);
  EXPECT_GE(driver.output(1).finished_at, 100 / 9);
  EXPECT_LE(driver.output(2).finished_at, 5) << "others are not held up";
}

TEST(Scheduler, RefusesFewerRowsOfLogitsThanSequences) {
  SchedulerOptions options = Options(/*blocks=*/1000);
  options.max_sequences = 4;
  options.max_logits_rows = 3;
  EXPECT_THAT(std::string(CreateScheduler(options).status().message()),
              ::testing::HasSubstr("max_logits_rows is 3"));
  options.max_logits_rows = 4;
  EXPECT_TRUE(CreateScheduler(options).ok());
}

TEST(Scheduler, PreemptedWorkResumesBeforeNewerEqualsAndLosesNoToken) {
  Driver driver(Options(/*blocks=*/20));
  Request old_one = Prompt(1, 30, 40);
  Request newer = Prompt(2, 30, 40, /*first=*/1000);
  ASSERT_TRUE(driver.Submit(old_one).ok());
  driver.Wait(absl::Milliseconds(1));
  ASSERT_TRUE(driver.Submit(newer).ok());
  for (int step = 0; step < 5; ++step) driver.Step();
  ASSERT_EQ(driver.scheduler().stats().running, 2);
  // A stream of later arrivals that would fit where the preempted one does not.
  uint64_t id = 10;
  for (int step = 0; step < 300 && !driver.output(2).finish.has_value(); ++step) {
    if (driver.scheduler().stats().waiting < 50) {
      ASSERT_TRUE(driver.Submit(Prompt(id, 4, 1, static_cast<TokenId>(id * 100))).ok());
      ++id;
    }
    driver.Step();
  }
  EXPECT_GE(driver.scheduler().stats().preemptions, 1);
  const SchedulerOptions options = Options(20);
  EXPECT_EQ(driver.output(1).tokens, RunAlone(old_one, options).tokens);
  EXPECT_EQ(driver.output(2).tokens, RunAlone(newer, options).tokens);
  ASSERT_GE(driver.output(2).finished_at, 0);
  for (uint64_t later = 10; later < id; ++later) {
    if (driver.output(later).finish.has_value()) {
      EXPECT_GE(driver.output(later).finished_at, driver.output(1).finished_at) << later;
    }
  }
}

TEST(Scheduler, OneShortageTakesAtMostOneVictimWhileBlocksDrain) {
  SchedulerOptions options = Options(/*blocks=*/40);
  options.plans_in_flight = 2;
  Driver driver(options);
  for (uint64_t id = 1; id <= 4; ++id)
    ASSERT_TRUE(driver.Submit(Prompt(id, 28, 60, static_cast<TokenId>(1000 * id))).ok());
  int64_t preempted = 0;
  for (int step = 0; step < 2000 && !driver.scheduler().idle(); ++step) {
    const StepPlan plan = driver.Plan();
    const int64_t now = driver.scheduler().stats().preemptions;
    EXPECT_LE(now - preempted, 1) << "in step " << plan.step.value();
    preempted = now;
    if (step > 0) driver.Apply();
    driver.Take(driver.scheduler().TakePending());
  }
  EXPECT_TRUE(driver.scheduler().idle());
  EXPECT_GE(preempted, 1);
  // Growing from 28 to 88 tokens, four need 88 blocks: three leave once or twice, not every step.
  EXPECT_LE(preempted, 8);
}

TEST(Scheduler, LowPriorityIsServedUnderAnEndlessStreamOfHigherPriority) {
  SchedulerOptions options = Options(/*blocks=*/100);
  options.max_sequences = 1;
  Driver driver(options);
  Request low = Prompt(1, 8, 2);
  low.priority = -3;
  ASSERT_TRUE(driver.Submit(low).ok());
  uint64_t id = 2;
  int steps = 0;
  for (; steps < 1000 && !driver.output(1).finish.has_value(); ++steps) {
    for (; driver.scheduler().stats().waiting < 5; ++id)
      ASSERT_TRUE(driver.Submit(Prompt(id, 8, 2, static_cast<TokenId>(id * 10))).ok());
    driver.Step();
  }
  EXPECT_GT(steps, 100);  // it did wait: three steps of five seconds at ten steps a second
  EXPECT_LT(steps, 250);
}

TEST(Scheduler, AMovedRequestCountsItsTokensFromTheEndOfThePrompt) {
  const SchedulerOptions options = Options(/*blocks=*/100);
  const Request whole = Prompt(1, 30, 10);
  const std::vector<TokenId> expected = RunAlone(whole, options).tokens;
  for (size_t emitted = 1; emitted <= 10; ++emitted) {
    Driver driver(options);
    Request moved = whole;
    moved.tokens.insert(moved.tokens.end(), expected.begin(), expected.begin() + emitted);
    ASSERT_TRUE(driver.Submit(moved).ok());
    driver.RunUntilIdle(100);
    EXPECT_EQ(driver.output(1).finish, FinishReason::kLength);
    EXPECT_EQ(driver.output(1).tokens,
              std::vector<TokenId>(expected.begin() + emitted, expected.end()));
  }
}

TEST(Scheduler, ADeadlineEndsARequestWhereverItIs) {
  SchedulerOptions options = Options(/*blocks=*/100);
  options.max_sequences = 1;
  Driver driver(options);
  for (uint64_t id = 1; id <= 2; ++id) {
    Request request = Prompt(id, 8, 1000);
    request.deadline = driver.now() + absl::Seconds(1);
    ASSERT_TRUE(driver.Submit(request).ok());
  }
  driver.RunUntilIdle(30);
  EXPECT_EQ(driver.output(1).finish, FinishReason::kDeadline);
  EXPECT_GT(driver.output(1).tokens.size(), 5U);
  EXPECT_EQ(driver.output(2).finish, FinishReason::kDeadline);
  EXPECT_TRUE(driver.output(2).tokens.empty());
}

TEST(Scheduler, CancelsOfUnknownAndEndedIdsChangeNothing) {
  Driver driver(Options(/*blocks=*/100));
  ASSERT_TRUE(driver.Submit(Prompt(1, 8, 1)).ok());
  driver.RunUntilIdle(10);
  for (uint64_t id = 0; id < 100000; ++id) driver.scheduler().Cancel(SequenceId(id));
  EXPECT_TRUE(driver.scheduler().idle());
  EXPECT_TRUE(driver.scheduler().TakePending().deltas.empty());
}

TEST(Scheduler, TheExecutorIsToldOfEveryEnd) {
  Driver driver(Options(/*blocks=*/100));
  ASSERT_TRUE(driver.Submit(Prompt(1, 8, 1)).ok());
  driver.Plan();
  driver.Apply();
  EXPECT_EQ(driver.output(1).finish, FinishReason::kLength);
  EXPECT_FALSE(driver.scheduler().idle());
  const StepPlan plan = driver.Plan();
  EXPECT_EQ(plan.removed, std::vector<SequenceId>({SequenceId(1)}));
  EXPECT_EQ(plan.tokens(), 0);
  driver.Apply();
  EXPECT_TRUE(driver.scheduler().idle());
}

TEST(Scheduler, OptionsThatCannotWorkAreRefusedByName) {
  SchedulerOptions window = Options(10);
  window.groups.push_back({.window = 100, .blocks = 25});
  EXPECT_EQ(CreateScheduler(window).status().code(), absl::StatusCode::kInvalidArgument);
  window.groups[1].blocks = 26;
  EXPECT_TRUE(CreateScheduler(window).ok());
  SchedulerOptions none = Options(10);
  none.groups.clear();
  EXPECT_EQ(CreateScheduler(none).status().code(), absl::StatusCode::kInvalidArgument);
  SchedulerOptions batch = Options(10);
  batch.max_batch_tokens = 0;
  EXPECT_THAT(std::string(CreateScheduler(batch).status().message()),
              testing::HasSubstr("max_batch_tokens"));
}

}  // namespace
}  // namespace shoal::scheduler
