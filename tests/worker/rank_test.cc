// SPDX-License-Identifier: Apache-2.0
#include "worker/executor/rank.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cstdint>
#include <vector>

#include "base/mutex.h"
#include "worker/executor/local_executor.h"
#include "worker/fake_model.h"

namespace shoal::worker {
namespace {

using scheduler::SequenceId;
using scheduler::StepNumber;
using testing::HasSubstr;

class RankTest : public testing::Test {
 protected:
  RankParts Parts() {
    return {.decoder = &decoder_,
            .sampling = &sampling_,
            .stream = &stream_,
            .pools = decoder_.pools()};
  }

  // A plan that prefills sequence 1 (9 tokens in 3 blocks of 4) and samples.
  static scheduler::StepPlan Prefill() {
    scheduler::StepPlan plan;
    plan.step = StepNumber(1);
    scheduler::NewSequence added{.sequence = SequenceId(1), .tokens = {}, .sampling = {}};
    for (int32_t i = 0; i < 9; ++i) added.tokens.push_back(i + 10);
    added.prompt_tokens = 9;
    added.sampling.temperature = 0;
    plan.added.push_back(added);
    plan.appended.push_back({.sequence = SequenceId(1), .group = 0, .blocks = {5, 2, 7}});
    plan.sub_plans.push_back({.slices = {{.sequence = SequenceId(1),
                                          .first_position = 0,
                                          .count = 9,
                                          .input = std::nullopt,
                                          .logits = scheduler::Logits::kLast,
                                          .sample = true,
                                          .sample_row = 0}}});
    return plan;
  }

  // One token of sequence 1 that step 1 sampled.
  static scheduler::StepPlan Decode() {
    scheduler::StepPlan plan;
    plan.step = StepNumber(2);
    plan.sub_plans.push_back(
        {.slices = {{.sequence = SequenceId(1),
                     .first_position = 9,
                     .count = 1,
                     .input = scheduler::TokenRef{.step = StepNumber(1), .row = 0},
                     .logits = scheduler::Logits::kLast,
                     .sample = true,
                     .sample_row = 0}}});
    return plan;
  }

  std::string ErrorOf(Rank& rank, const scheduler::StepPlan& plan) {
    const absl::StatusOr<scheduler::StepResult> result = rank.Execute(plan);
    EXPECT_FALSE(result.ok());
    return std::string(result.status().message());
  }

  FakeDecoder decoder_{FakeModelOptions{}};
  FakeSampling sampling_;
  FakeStream stream_;
};

TEST_F(RankTest, UsesASampledTokenBeforeItsResultIsApplied) {
  Rank rank(Parts());
  const auto first = rank.Execute(Prefill());
  ASSERT_TRUE(first.ok()) << first.status().ToString();
  const auto second = rank.Execute(Decode());
  ASSERT_TRUE(second.ok()) << second.status().ToString();
  const std::vector<int32_t> got = {first->sequences[0].tokens[0].token,
                                    second->sequences[0].tokens[0].token};
  EXPECT_EQ(got, ExpectedTokens({}, Prefill().added[0].tokens, {.temperature = 0},
                                {.max_tokens = 2, .stop_token_ids = {}}));
}

TEST_F(RankTest, RefusesAStepThatIsMissingOrRepeatedWithBothNumbers) {
  Rank rank(Parts());
  EXPECT_THAT(ErrorOf(rank, Decode()), HasSubstr("step 2 but expected step 1"));
  Rank other(Parts());
  ASSERT_TRUE(other.Execute(Prefill()).ok());
  EXPECT_THAT(ErrorOf(other, Prefill()), HasSubstr("step 1 but expected step 2"));
}

TEST_F(RankTest, RefusesAReferenceToATokenThatWasNotSampled) {
  Rank rank(Parts());
  ASSERT_TRUE(rank.Execute(Prefill()).ok());
  scheduler::StepPlan plan = Decode();
  plan.sub_plans[0].slices[0].input->row = 1;
  EXPECT_THAT(ErrorOf(rank, plan), HasSubstr("row 1 of step 1"));
}

TEST_F(RankTest, RefusesASliceThatItsBlocksDoNotCover) {
  Rank rank(Parts());
  scheduler::StepPlan plan = Prefill();
  plan.appended[0].blocks.pop_back();
  EXPECT_THAT(ErrorOf(rank, plan), HasSubstr("cover 8 tokens"));
}

TEST_F(RankTest, RefusesASliceOfTokensItDoesNotHold) {
  Rank rank(Parts());
  scheduler::StepPlan plan = Prefill();
  plan.sub_plans[0].slices[0].count = 10;
  EXPECT_THAT(ErrorOf(rank, plan), HasSubstr("holds 9 tokens"));
}

TEST_F(RankTest, RefusesBlocksOutsideThePool) {
  Rank rank(Parts());
  scheduler::StepPlan plan = Prefill();
  plan.appended[0].blocks[1] = 64;
  EXPECT_THAT(ErrorOf(rank, plan), HasSubstr("block 64"));
}

TEST_F(RankTest, ForgetsRemovedSequencesAndRefusesUnknownOnes) {
  Rank rank(Parts());
  ASSERT_TRUE(rank.Execute(Prefill()).ok());
  EXPECT_EQ(rank.sequences(), 1);
  scheduler::StepPlan plan;
  plan.step = StepNumber(2);
  plan.removed = {SequenceId(1)};
  ASSERT_TRUE(rank.Execute(plan).ok());
  EXPECT_EQ(rank.sequences(), 0);
  plan.step = StepNumber(3);
  EXPECT_THAT(ErrorOf(rank, plan), HasSubstr("sequence 1 is not held"));
}

TEST_F(RankTest, AddsARemovedSequenceAnewInTheSamePlan) {
  Rank rank(Parts());
  ASSERT_TRUE(rank.Execute(Prefill()).ok());
  scheduler::StepPlan plan = Prefill();
  plan.step = StepNumber(2);
  plan.removed = {SequenceId(1)};
  plan.appended[0].blocks = {1, 0, 3};
  const auto result = rank.Execute(plan);
  ASSERT_TRUE(result.ok()) << result.status().ToString();
  EXPECT_EQ(result->sequences[0].tokens.size(), 1u);
}

TEST_F(RankTest, LeavesTheSlicesOfOtherDataRanksAlone) {
  Rank rank(Parts());
  scheduler::StepPlan plan = Prefill();
  plan.sub_plans[0].data_rank = 1;
  const auto result = rank.Execute(plan);
  ASSERT_TRUE(result.ok());
  EXPECT_TRUE(result->sequences.empty());
  EXPECT_EQ(decoder_.forwards(), 0);
}

class LastReport final : public StepSink {
 public:
  void OnStep(StepReport report) override {
    MutexLock lock(&mutex_);
    reports_.push_back(std::move(report));
  }
  std::vector<StepReport> Await(size_t count) {
    MutexLock lock(&mutex_);
    const auto enough = [&]() ABSL_NO_THREAD_SAFETY_ANALYSIS { return reports_.size() >= count; };
    EXPECT_TRUE(mutex_.AwaitWithTimeout(absl::Condition(&enough), absl::Seconds(60)));
    return reports_;
  }

 private:
  Mutex mutex_;
  std::vector<StepReport> reports_;
};

TEST_F(RankTest, TheExecutorReportsPlansAndPingsInOrder) {
  LastReport sink;
  LocalExecutor executor(Parts(), 4);
  executor.Start(sink);
  ASSERT_TRUE(executor.Execute(Prefill()).ok());
  ASSERT_TRUE(executor.Ping().ok());
  ASSERT_TRUE(executor.Execute(Decode()).ok());
  const std::vector<StepReport> reports = sink.Await(3);
  EXPECT_EQ(reports[0].result.step, StepNumber(1));
  EXPECT_TRUE(reports[1].self_check);
  EXPECT_EQ(reports[2].result.step, StepNumber(2));
}

TEST_F(RankTest, TheExecutorReportsAFailureOnceAndThenNothing) {
  LastReport sink;
  decoder_.FailAt(1);
  {
    LocalExecutor executor(Parts(), 4);
    executor.Start(sink);
    ASSERT_TRUE(executor.Execute(Prefill()).ok());
    sink.Await(1);
    ASSERT_TRUE(executor.Execute(Decode()).ok());
  }
  const std::vector<StepReport> reports = sink.Await(1);
  ASSERT_EQ(reports.size(), 1u);
  EXPECT_EQ(reports[0].status.code(), absl::StatusCode::kDataLoss);
  EXPECT_THAT(std::string(reports[0].status.message()), HasSubstr("forward of step 1"));
}

}  // namespace
}  // namespace shoal::worker
