// SPDX-License-Identifier: Apache-2.0
#include "worker/engine/engine.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cstdint>
#include <vector>

#include "worker/engine/throughput.h"
#include "worker/engine_harness.h"

namespace shoal::worker {
namespace {

using scheduler::FinishReason;

std::vector<int32_t> Expected(const scheduler::Request& request,
                              const FakeModelOptions& model = {}) {
  return ExpectedTokens(model, request.tokens, request.sampling, request.stop);
}

// Requests that differ in length, sampling and stops.
std::vector<scheduler::Request> MixedRequests(int count) {
  std::vector<scheduler::Request> requests;
  for (int i = 0; i < count; ++i) {
    scheduler::Request request = MakeRequest(1 + i * 5 % 37, 3 + i * 3 % 17, i % 5);
    request.sampling.temperature = i % 3 == 0 ? 0.0f : 0.9f;
    request.sampling.seed = static_cast<uint64_t>(i) * 77;
    request.sampling.choice = static_cast<uint32_t>(i % 4);
    if (i % 4 == 1) request.stop.stop_token_ids = {i % 97, 50, 60, 70};
    requests.push_back(request);
  }
  return requests;
}

void ExpectAllAsAlone(EngineHarness& harness, const std::vector<scheduler::Request>& requests,
                      const FakeModelOptions& model = {}) {
  for (size_t i = 0; i < requests.size(); ++i) harness.Submit(i + 1, requests[i]);
  for (size_t i = 0; i < requests.size(); ++i) {
    const Outcome outcome = harness.sink().AwaitEnd(i + 1);
    EXPECT_EQ(outcome.error, "");
    EXPECT_EQ(outcome.tokens, Expected(requests[i], model)) << "request " << i;
  }
}

void ExpectDrains(EngineHarness& harness) {
  harness.engine().StartDrain();
  const absl::Status drained = harness.engine().AwaitDrained(absl::Seconds(60));
  EXPECT_TRUE(drained.ok()) << drained.ToString();
  const EngineLoad load = harness.engine().load();
  EXPECT_EQ(load.accepted, load.ended);
  EXPECT_EQ(load.stats.blocks_free, load.stats.blocks_total);
}

TEST(Engine, GeneratesWhatTheModelSaysForOneRequest) {
  EngineHarness harness({});
  const scheduler::Request request = MakeRequest(9, 12);
  harness.Submit(1, request);
  const Outcome outcome = harness.sink().AwaitEnd(1);
  EXPECT_EQ(outcome.tokens, Expected(request));
  EXPECT_EQ(outcome.reason, FinishReason::kLength);
  EXPECT_FALSE(outcome.rejected);
  ExpectDrains(harness);
}

TEST(Engine, StopsAtAStopTokenAndReportsIt) {
  EngineHarness harness({});
  scheduler::Request request = MakeRequest(9, 12);
  const std::vector<int32_t> all = Expected(request);
  request.stop.stop_token_ids = {all[4]};
  harness.Submit(1, request);
  const Outcome outcome = harness.sink().AwaitEnd(1);
  EXPECT_EQ(outcome.tokens, Expected(request));
  EXPECT_EQ(outcome.reason, FinishReason::kStop);
  ExpectDrains(harness);
}

class EngineDepth : public testing::TestWithParam<int> {};

TEST_P(EngineDepth, ManyRequestsTogetherGetWhatEachGetsAlone) {
  HarnessOptions options;
  options.plans_in_flight = GetParam();
  EngineHarness harness(options);
  ExpectAllAsAlone(harness, MixedRequests(40));
  EXPECT_GT(harness.decoder().largest_batch(), 1);
  ExpectDrains(harness);
}

TEST_P(EngineDepth, PreemptionDoesNotChangeWhatIsGenerated) {
  HarnessOptions options;
  options.plans_in_flight = GetParam();
  options.model.blocks = {18};  // the longest request has 37 + 19 tokens: 14 blocks
  EngineHarness harness(options);
  ExpectAllAsAlone(harness, MixedRequests(24), options.model);
  EXPECT_GT(harness.engine().load().stats.preemptions, 0);
  ExpectDrains(harness);
}

TEST_P(EngineDepth, EveryKvGroupFollowsItsOwnBlockTable) {
  HarnessOptions options;
  options.plans_in_flight = GetParam();
  options.model.blocks = {64, 40};
  options.model.windows = {0, 6};
  EngineHarness harness(options);
  ExpectAllAsAlone(harness, MixedRequests(24), options.model);
  ExpectDrains(harness);
}

TEST_P(EngineDepth, TheBudgetOfAStepDoesNotChangeWhatIsGenerated) {
  for (const int32_t budget : {1, 5, 64}) {
    HarnessOptions options;
    options.plans_in_flight = GetParam();
    options.max_batch_tokens = budget;
    EngineHarness harness(options);
    ExpectAllAsAlone(harness, MixedRequests(12));
  }
}

TEST_P(EngineDepth, CancelEndsASequenceOnceAndFreesItsBlocks) {
  HarnessOptions options;
  options.plans_in_flight = GetParam();
  EngineHarness harness(options);
  harness.decoder().CloseAt(8);
  harness.Submit(1, MakeRequest(8, 150));
  harness.Submit(2, MakeRequest(8, 20, 1));
  harness.decoder().AwaitBlocked();
  harness.Cancel(1);
  harness.Cancel(1);
  harness.Cancel(4711);
  const Outcome cancelled = harness.sink().AwaitEnd(1);
  harness.decoder().Open();
  EXPECT_GT(cancelled.tokens.size(), 0u);
  EXPECT_EQ(cancelled.reason, FinishReason::kCancelled);
  EXPECT_LT(cancelled.tokens.size(), 150u);
  EXPECT_EQ(harness.sink().AwaitEnd(2).tokens, Expected(MakeRequest(8, 20, 1)));
  ExpectDrains(harness);
}

TEST_P(EngineDepth, AFailingForwardEndsEverySequenceWithAnError) {
  HarnessOptions options;
  options.plans_in_flight = GetParam();
  EngineHarness harness(options);
  harness.decoder().FailAt(4);
  harness.Submit(1, MakeRequest(8, 100));
  harness.Submit(2, MakeRequest(30, 100, 1));
  for (const uint64_t client : {1, 2}) {
    const Outcome outcome = harness.sink().AwaitEnd(client);
    EXPECT_EQ(outcome.reason, FinishReason::kError);
    EXPECT_FALSE(outcome.rejected);
    EXPECT_THAT(outcome.error, testing::HasSubstr("the fake device broke"));
    EXPECT_EQ(outcome.code, absl::StatusCode::kUnavailable);
  }
  EXPECT_EQ(harness.engine().AwaitFailure(absl::Seconds(60)).code(), absl::StatusCode::kDataLoss);
  harness.Submit(3, MakeRequest(8, 5));
  const Outcome late = harness.sink().AwaitEnd(3);
  EXPECT_TRUE(late.rejected);
  EXPECT_EQ(late.code, absl::StatusCode::kUnavailable);
  const EngineLoad load = harness.engine().load();
  EXPECT_EQ(load.accepted, 2);
  EXPECT_EQ(load.ended, 2);
}

INSTANTIATE_TEST_SUITE_P(PlansInFlight, EngineDepth, testing::Values(1, 2, 4));

TEST(Engine, CancellingAStreamEndsOnlyItsSequences) {
  EngineHarness harness({});
  harness.decoder().CloseAt(6);
  harness.Submit(1, MakeRequest(8, 150), 1);
  harness.Submit(2, MakeRequest(8, 150, 1), 1);
  harness.Submit(3, MakeRequest(8, 30, 2), 2);
  harness.decoder().AwaitBlocked();
  harness.engine().CancelAll(StreamId(1));
  EXPECT_EQ(harness.sink().AwaitEnd(1).reason, FinishReason::kCancelled);
  EXPECT_EQ(harness.sink().AwaitEnd(2).reason, FinishReason::kCancelled);
  harness.decoder().Open();
  EXPECT_EQ(harness.sink().AwaitEnd(3).tokens, Expected(MakeRequest(8, 30, 2)));
  ExpectDrains(harness);
}

TEST(Engine, RejectsWhatCanNeverFitAndGoesOn) {
  EngineHarness harness({});
  harness.Submit(1, MakeRequest(201, 5));
  const Outcome refused = harness.sink().AwaitEnd(1);
  EXPECT_TRUE(refused.rejected);
  EXPECT_EQ(refused.code, absl::StatusCode::kInvalidArgument);
  harness.Submit(2, MakeRequest(10, 5));
  EXPECT_EQ(harness.sink().AwaitEnd(2).tokens, Expected(MakeRequest(10, 5)));
  EXPECT_EQ(harness.engine().load().accepted, 1);
  ExpectDrains(harness);
}

TEST(Engine, RejectsWithResourceExhaustedWhenTheQueueIsFull) {
  HarnessOptions options;
  options.max_waiting = 2;
  options.max_sequences = 1;
  EngineHarness harness(options);
  harness.decoder().Close();
  harness.Submit(1, MakeRequest(8, 4));
  harness.decoder().AwaitBlocked();
  for (uint64_t client = 2; client <= 6; ++client) harness.Submit(client, MakeRequest(8, 4));
  const Outcome refused = harness.sink().AwaitEnd(6);
  EXPECT_TRUE(refused.rejected);
  EXPECT_EQ(refused.code, absl::StatusCode::kResourceExhausted);
  harness.decoder().Open();
  EXPECT_EQ(harness.sink().AwaitEnd(1).tokens, Expected(MakeRequest(8, 4)));
  ExpectDrains(harness);
}

TEST(Engine, ADrainRefusesNewSequencesAndFinishesRunningOnes) {
  EngineHarness harness({});
  harness.Submit(1, MakeRequest(8, 60));
  harness.sink().AwaitTokens(1, 1);
  harness.engine().StartDrain();
  harness.Submit(2, MakeRequest(8, 4));
  const Outcome refused = harness.sink().AwaitEnd(2);
  EXPECT_TRUE(refused.rejected);
  EXPECT_EQ(refused.code, absl::StatusCode::kUnavailable);
  EXPECT_EQ(harness.sink().AwaitEnd(1).tokens, Expected(MakeRequest(8, 60)));
  ExpectDrains(harness);
}

TEST(Engine, ADrainThatTakesTooLongSaysWhatStillLives) {
  EngineHarness harness({});
  harness.decoder().Close();
  harness.Submit(1, MakeRequest(8, 60));
  harness.decoder().AwaitBlocked();
  harness.engine().StartDrain();
  const absl::Status drained = harness.engine().AwaitDrained(absl::Milliseconds(20));
  EXPECT_EQ(drained.code(), absl::StatusCode::kDeadlineExceeded);
  EXPECT_THAT(std::string(drained.message()), testing::HasSubstr("1 of 1"));
  harness.decoder().Open();
  ExpectDrains(harness);
}

TEST(Engine, ASequenceEndsAtItsDeadline) {
  EngineHarness harness({});
  harness.decoder().Close();
  scheduler::Request request = MakeRequest(8, 60);
  request.deadline = absl::UnixEpoch() + absl::Milliseconds(30);  // time left
  harness.Submit(1, request);
  harness.decoder().AwaitBlocked();
  EXPECT_EQ(harness.sink().AwaitEnd(1).reason, FinishReason::kDeadline);
  harness.decoder().Open();
  ExpectDrains(harness);
}

TEST(Engine, AStalledRankShowsInTheLoadAndLosesNothing) {
  HarnessOptions options;
  options.engine.step_deadline = absl::Milliseconds(10);
  EngineHarness harness(options);
  const MonotonicClock clock;
  harness.decoder().Close();
  harness.Submit(1, MakeRequest(8, 6));
  harness.decoder().AwaitBlocked();
  const absl::Time seen = clock.Now();
  // AwaitFailure is a wait that nothing ends here: a stall is no failure.
  EXPECT_TRUE(harness.engine().AwaitFailure(absl::Milliseconds(50)).ok());
  EXPECT_GE(harness.engine().load().StalledFor(clock.Now()), absl::Milliseconds(40));
  EXPECT_LE(harness.engine().load().waiting_since, seen);
  harness.decoder().Open();
  EXPECT_EQ(harness.sink().AwaitEnd(1).tokens, Expected(MakeRequest(8, 6)));
  ExpectDrains(harness);
  EXPECT_EQ(harness.engine().load().StalledFor(clock.Now()), absl::ZeroDuration());
}

TEST(Engine, AnIdleEngineChecksItselfThroughTheRank) {
  HarnessOptions options;
  options.engine.self_check = absl::Milliseconds(1);
  EngineHarness harness(options);
  const absl::Time give_up = absl::Now() + absl::Seconds(60);
  while (harness.engine().load().steps < 3 && absl::Now() < give_up) {
    EXPECT_TRUE(harness.engine().AwaitFailure(absl::Milliseconds(1)).ok());
  }
  EXPECT_GE(harness.engine().load().steps, 3u);
  EXPECT_EQ(harness.decoder().forwards(), 0);
}

TEST(Engine, GivesPromptLogprobsOfEveryPromptTokenButTheFirst) {
  EngineHarness harness({});
  scheduler::Request request = MakeRequest(37, 2);
  request.sampling.prompt_logprobs = 2;
  request.sampling.logprobs = 1;
  for (uint64_t client = 1; client <= 2; ++client) {  // the second meets a warm cache
    harness.Submit(client, request);
    const Outcome outcome = harness.sink().AwaitEnd(client);
    EXPECT_EQ(outcome.tokens, Expected(request));
    ASSERT_EQ(outcome.prompt.size(), request.tokens.size() - 1);
    for (size_t i = 0; i < outcome.prompt.size(); ++i) {
      EXPECT_EQ(outcome.prompt[i].token, request.tokens[i + 1]);
      EXPECT_TRUE(outcome.prompt[i].has_logprob);
      EXPECT_EQ(outcome.prompt[i].top.size(), 2u);
      EXPECT_LT(outcome.prompt[i].logprob, 0.0f);
    }
    ASSERT_EQ(outcome.outputs.size(), 2u);
    EXPECT_EQ(outcome.outputs[0].rank, 1);
    EXPECT_EQ(outcome.outputs[0].top.size(), 1u);
  }
  ExpectDrains(harness);
}

TEST(Engine, ScoresAPromptWithoutGenerating) {
  EngineHarness harness({});
  scheduler::Request request = MakeRequest(21, 0);
  request.sampling.prompt_logprobs = 0;
  harness.Submit(1, request);
  const Outcome outcome = harness.sink().AwaitEnd(1);
  EXPECT_EQ(outcome.reason, FinishReason::kLength);
  EXPECT_TRUE(outcome.tokens.empty());
  EXPECT_EQ(outcome.prompt.size(), 20u);
  ExpectDrains(harness);
}

TEST(Engine, AResumedSequenceContinuesAsIfNothingHadHappened) {
  EngineHarness harness({});
  scheduler::Request request = MakeRequest(10, 20);
  request.sampling.temperature = 1;
  request.sampling.seed = 99;
  const std::vector<int32_t> all = Expected(request);
  scheduler::Request resumed = request;
  resumed.tokens.insert(resumed.tokens.end(), all.begin(), all.begin() + 7);
  harness.Submit(1, resumed);
  const Outcome outcome = harness.sink().AwaitEnd(1);
  EXPECT_EQ(outcome.tokens, std::vector<int32_t>(all.begin() + 7, all.end()));
  ExpectDrains(harness);
}

TEST(Engine, ASecondRequestReusesTheCachedPrefixWithTheSameTokens) {
  EngineHarness harness({});
  const scheduler::Request request = MakeRequest(30, 6);
  harness.Submit(1, request);
  EXPECT_EQ(harness.sink().AwaitEnd(1).cached_tokens, 0);
  harness.Submit(2, request);
  const Outcome warm = harness.sink().AwaitEnd(2);
  EXPECT_GE(warm.cached_tokens, 24);
  EXPECT_EQ(warm.tokens, Expected(request));
  ExpectDrains(harness);
}

TEST(Throughput, MeasuresBusyTimeOnly) {
  Throughput throughput(absl::Seconds(10));
  EXPECT_EQ(throughput.tokens_per_second(), 0);
  for (int i = 0; i < 100; ++i) throughput.Add(50, absl::Milliseconds(500));
  EXPECT_NEAR(throughput.tokens_per_second(), 100, 1e-9);
  for (int i = 0; i < 1000; ++i) throughput.Add(5, absl::Milliseconds(500));
  EXPECT_NEAR(throughput.tokens_per_second(), 10, 1e-3);
}

}  // namespace
}  // namespace shoal::worker
