// SPDX-License-Identifier: Apache-2.0
// What the scheduler promises in single situations; the simulation covers their mixtures.
#include "scheduler/scheduler.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <deque>
#include <numeric>

#include "scheduler/shadow_executor.h"
#include "scheduler/simulation.h"

namespace shoal::scheduler {
namespace {

SchedulerOptions Options(int64_t blocks) {
  SchedulerOptions options;
  options.block_tokens = 4;
  options.groups = {{.window = 0, .blocks = blocks}};
  options.max_context = 100000;
  options.max_batch_tokens = 64;
  options.max_sequences = 8;
  options.max_waiting = 100;
  return options;
}

Request Prompt(uint64_t id, int32_t tokens, int32_t max_tokens, TokenId first = 0) {
  Request request;
  request.id = SequenceId(id);
  request.tokens.resize(static_cast<size_t>(tokens));
  std::iota(request.tokens.begin(), request.tokens.end(), first);
  request.prompt_tokens = tokens;
  request.stop.max_tokens = max_tokens;
  return request;
}

struct Output {
  std::vector<TokenId> tokens;
  std::vector<TokenOutput> prompt;
  std::optional<FinishReason> finish;
  int32_t cached_tokens = 0;
  int finished_at = -1;  // step
  int first_token_at = -1;
};

// A scheduler with a shadow executor; fails the test at the first broken rule.
class Driver {
 public:
  explicit Driver(const SchedulerOptions& options)
      : options_(options), executor_(options), scheduler_(*CreateScheduler(options)) {}

  absl::Status Submit(const Request& request) {
    executor_.Announce(request.id, request.cache_namespace);
    return scheduler_->Submit(request, now_);
  }
  StepPlan Plan() {
    StepPlan plan = scheduler_->Plan(now_);
    if (plan.empty()) return plan;
    auto result = executor_.Execute(plan, applied_);
    EXPECT_TRUE(result.ok()) << result.status();
    results_.push_back(*std::move(result));
    return plan;
  }
  void Apply() {
    if (results_.empty()) return;
    ++step_;
    const StepResult result = results_.front();
    results_.pop_front();
    applied_ = result.step;
    Take(scheduler_->Apply(result, now_));
    const absl::Status status = scheduler_->CheckInvariants();
    EXPECT_TRUE(status.ok()) << status;
  }
  void Step() {
    Plan();
    Apply();
    Take(scheduler_->TakePending());
    now_ += absl::Milliseconds(100);
  }
  void RunUntilIdle(int steps_max) {
    while (!scheduler_->idle() && steps_max-- > 0) Step();
    EXPECT_TRUE(scheduler_->idle());
  }
  void Take(const Applied& applied) {
    for (const Delta& delta : applied.deltas) {
      Output& output = outputs_[delta.sequence.value()];
      EXPECT_FALSE(output.finish.has_value()) << "something after the end";
      if (!delta.tokens.empty() && output.first_token_at < 0) output.first_token_at = step_;
      for (const TokenOutput& token : delta.tokens) output.tokens.push_back(token.token);
      output.prompt.insert(output.prompt.end(), delta.prompt.begin(), delta.prompt.end());
      output.finish = delta.finish;
      output.cached_tokens = delta.cached_tokens;
      if (delta.finish.has_value()) output.finished_at = step_;
    }
  }
  Scheduler& scheduler() { return *scheduler_; }
  Output& output(uint64_t id) { return outputs_[id]; }
  absl::Time now() const { return now_; }
  void Wait(absl::Duration time) { now_ += time; }

 private:
  const SchedulerOptions options_;
  ShadowExecutor executor_;
  std::unique_ptr<Scheduler> scheduler_;
  std::deque<StepResult> results_;
  StepNumber applied_;
  absl::Time now_ = absl::UnixEpoch();
  int step_ = 0;
  std::map<uint64_t, Output> outputs_;
};

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
  for (uint64_t id = 1; id <= 4; ++id) EXPECT_GE(driver.output(id).first_token_at, 0);
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
