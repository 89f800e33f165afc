// SPDX-License-Identifier: Apache-2.0
// The worker's front end over loopback gRPC, with the real engine and scheduler and the fake model.
#include "worker/frontend/frontend.h"

#include <gmock/gmock.h>
#include <grpcpp/grpcpp.h>
#include <gtest/gtest.h>

#include <functional>
#include <limits>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "shoal/v1/worker.grpc.pb.h"
#include "worker/engine/monotonic_clock.h"
#include "worker/executor/local_executor.h"
#include "worker/fake_model.h"
#include "worker/frontend/cluster_token.h"
#include "worker/frontend/convert.h"
#include "worker/stream_client.h"

namespace shoal::worker {
namespace {

using testing::HasSubstr;

constexpr uint64_t kIncarnation = 0xABCDEF;

struct ServerOptions {
  FakeModelOptions model{.blocks = {256}};
  FrontendLimits limits;
  std::string cluster_token;
  int32_t plans_in_flight = 2;
  int32_t max_waiting = 64;
};

// A worker without a model file.
class TestServer {
 public:
  explicit TestServer(const ServerOptions& options) : decoder_(options.model) {
    auto scheduler = scheduler::CreateScheduler({.block_tokens = 4,
                                                 .groups = {{.blocks = options.model.blocks[0]}},
                                                 .max_context = 400,
                                                 .max_batch_tokens = 32,
                                                 .max_sequences = 16,
                                                 .max_waiting = options.max_waiting,
                                                 .plans_in_flight = options.plans_in_flight,
                                                 .weights_digest = "fake"});
    SHOAL_CHECK(scheduler.ok());
    const RankParts parts{.decoder = &decoder_,
                          .sampling = &sampling_,
                          .stream = &stream_,
                          .pools = decoder_.pools()};
    engine_ = std::make_unique<Engine>(
        EngineOptions{}, *std::move(scheduler),
        std::make_unique<LocalExecutor>(parts, static_cast<size_t>(options.plans_in_flight) + 1),
        clock_);
    FrontendOptions frontend;
    frontend.identity = {.incarnation = kIncarnation,
                         .model = "fake",
                         .weights_digest = "digest",
                         .system_fingerprint = "fp_fake",
                         .max_context = 400,
                         .vocab_size = 97,
                         .block_tokens = 4,
                         .pool_tokens = 1024,
                         .max_sequences = 16};
    frontend.limits = options.limits;
    frontend.listen.host = "127.0.0.1";
    frontend.cluster_token = options.cluster_token;
    frontend_ = std::make_unique<Frontend>(frontend, *engine_, clock_);
    const absl::Status started = frontend_->Start();
    SHOAL_CHECK(started.ok());
    engine_->Start(*frontend_);
  }

  ~TestServer() {
    decoder_.Open();
    engine_->Stop();
    frontend_->Stop();
  }

  std::string address() const { return frontend_->endpoint().ToString(); }
  FakeDecoder& decoder() { return decoder_; }
  Engine& engine() { return *engine_; }
  Frontend& frontend() { return *frontend_; }

  // Everything that was accepted has ended and no block is held.
  void ExpectClean() {
    engine_->StartDrain();
    const absl::Status drained = engine_->AwaitDrained(absl::Seconds(60));
    EXPECT_TRUE(drained.ok()) << drained.ToString();
  }

 private:
  MonotonicClock clock_;
  FakeDecoder decoder_;
  FakeSampling sampling_;
  FakeStream stream_;
  std::unique_ptr<Engine> engine_;
  std::unique_ptr<Frontend> frontend_;
};

v1::Submit MakeSubmit(uint64_t sequence, int32_t length, int32_t max_tokens) {
  v1::Submit submit;
  submit.set_sequence(sequence);
  for (int32_t i = 0; i < length; ++i) {
    submit.add_tokens(static_cast<int32_t>((i * 5 + static_cast<int32_t>(sequence) * 11) % 97));
  }
  submit.set_prompt_tokens(length);
  submit.set_max_tokens(max_tokens);
  submit.mutable_sampling()->set_top_p(1);
  submit.mutable_sampling()->set_logprobs(-1);
  submit.mutable_sampling()->set_prompt_logprobs(-1);
  return submit;
}

std::vector<int32_t> Expected(const v1::Submit& submit) {
  return ExpectedTokens({}, {submit.tokens().begin(), submit.tokens().end()},
                        {.temperature = submit.sampling().temperature(),
                         .seed = submit.sampling().seed(),
                         .choice = submit.sampling().choice()},
                        {.max_tokens = submit.max_tokens(), .stop_token_ids = {}});
}

TEST(Frontend, GreetsAndReportsItsLoad) {
  TestServer server({});
  StreamClient router(server.address());
  router.Hello(kProtocolVersion, 10);
  ASSERT_TRUE(router.ReadUntil([&] { return router.loads().size() >= 3; }));
  ASSERT_EQ(router.welcomes().size(), 1u);
  const v1::Welcome& welcome = router.welcomes()[0];
  EXPECT_EQ(welcome.protocol(), kProtocolVersion);
  EXPECT_EQ(welcome.incarnation(), kIncarnation);
  EXPECT_EQ(welcome.model(), "fake");
  EXPECT_EQ(welcome.vocab_size(), 97);
  EXPECT_EQ(welcome.pool_tokens(), 1024);
  EXPECT_EQ(router.loads()[0].incarnation(), kIncarnation);
  EXPECT_EQ(router.loads()[0].blocks_total(), 256);
  EXPECT_FALSE(router.loads()[0].draining());
  EXPECT_TRUE(router.Finish().ok());
}

TEST(Frontend, StreamsWhatTheModelSays) {
  TestServer server({});
  StreamClient router(server.address());
  router.Hello();
  v1::Submit submit = MakeSubmit(7, 10, 20);
  submit.set_attempt(3);
  submit.mutable_sampling()->set_temperature(0.8f);
  submit.mutable_sampling()->set_seed(5);
  submit.mutable_sampling()->set_logprobs(2);
  router.Submit(submit);
  ASSERT_TRUE(router.ReadEnd(7));
  EXPECT_EQ(router.seen(7).tokens, Expected(submit));
  EXPECT_EQ(router.seen(7).last.finish(), v1::FINISH_LENGTH);
  EXPECT_EQ(router.seen(7).last.attempt(), 3u);
  EXPECT_TRUE(router.seen(7).outputs[0].has_logprob());
  EXPECT_EQ(router.seen(7).outputs[0].top_size(), 2);
  server.ExpectClean();
}

TEST(Frontend, MinusOneMaxTokensMeansTheRestOfTheContext) {
  TestServer server({});
  StreamClient router(server.address());
  router.Hello();
  router.Submit(MakeSubmit(1, 390, -1));
  ASSERT_TRUE(router.ReadEnd(1));
  EXPECT_EQ(router.seen(1).tokens.size(), 10u);
  EXPECT_EQ(router.seen(1).last.finish(), v1::FINISH_LENGTH);
  server.ExpectClean();
}

TEST(Frontend, SequencesOfTwoRoutersWithTheSameNumberAreApart) {
  TestServer server({});
  StreamClient a(server.address());
  StreamClient b(server.address());
  a.Hello();
  b.Hello();
  v1::Submit first = MakeSubmit(1, 10, 30);
  v1::Submit second = MakeSubmit(1, 14, 25);
  first.set_group_key(5);
  second.set_group_key(5);
  a.Submit(first);
  b.Submit(second);
  ASSERT_TRUE(a.ReadEnd(1));
  ASSERT_TRUE(b.ReadEnd(1));
  EXPECT_EQ(a.seen(1).tokens, Expected(first));
  EXPECT_EQ(b.seen(1).tokens, Expected(second));
  server.ExpectClean();
}

TEST(Frontend, CancelEndsASequenceOnceAndUnknownOnesAreIgnored) {
  TestServer server({});
  StreamClient router(server.address());
  router.Hello();
  server.decoder().CloseAt(9);
  router.Submit(MakeSubmit(1, 10, 380));
  ASSERT_TRUE(router.ReadUntil([&] { return router.seen(1).tokens.size() >= 2; }));
  for (uint64_t i = 100; i < 1100; ++i) router.Cancel(i);
  router.Cancel(1, 9);  // another attempt
  router.Cancel(1);
  router.Cancel(1);
  ASSERT_TRUE(router.ReadEnd(1));
  EXPECT_EQ(router.seen(1).last.finish(), v1::FINISH_CANCELLED);
  server.decoder().Open();
  router.Submit(MakeSubmit(2, 5, 3));
  ASSERT_TRUE(router.ReadEnd(2));
  EXPECT_EQ(router.seen(2).tokens, Expected(MakeSubmit(2, 5, 3)));
  server.ExpectClean();
}

TEST(Frontend, ARouterThatDiesHasItsSequencesCancelled) {
  TestServer server({});
  StreamClient survivor(server.address());
  survivor.Hello();
  {
    StreamClient router(server.address());
    router.Hello();
    server.decoder().Close();
    for (uint64_t i = 1; i <= 20; ++i) router.Submit(MakeSubmit(i, 10, 380));
    server.decoder().AwaitBlocked();
    router.Kill();
    router.Finish();
    server.decoder().Open();
  }
  survivor.Submit(MakeSubmit(1, 12, 9));
  ASSERT_TRUE(survivor.ReadEnd(1));
  EXPECT_EQ(survivor.seen(1).tokens, Expected(MakeSubmit(1, 12, 9)));
  server.ExpectClean();
}

TEST(Frontend, ClosingTheRoutersSideCancelsItsSequences) {
  TestServer server({});
  StreamClient router(server.address());
  router.Hello();
  router.Submit(MakeSubmit(1, 10, 380));
  ASSERT_TRUE(router.ReadUntil([&] { return !router.seen(1).tokens.empty(); }));
  EXPECT_TRUE(router.Finish().ok());
  server.ExpectClean();
}

TEST(Frontend, RefusesInvalidRequestsByNameAndGoesOn) {
  TestServer server({});
  StreamClient router(server.address());
  router.Hello();
  const float nan = std::numeric_limits<float>::quiet_NaN();
  const std::vector<std::pair<std::string, std::function<void(v1::Submit&)>>> cases = {
      {"tokens are empty", [](v1::Submit& s) { s.clear_tokens(); }},
      {"tokens[2] is 97", [](v1::Submit& s) { s.set_tokens(2, 97); }},
      {"tokens[0] is -1", [](v1::Submit& s) { s.set_tokens(0, -1); }},
      {"prompt_tokens 0", [](v1::Submit& s) { s.set_prompt_tokens(0); }},
      {"prompt_tokens 11", [](v1::Submit& s) { s.set_prompt_tokens(11); }},
      {"max_tokens -2", [](v1::Submit& s) { s.set_max_tokens(-2); }},
      {"already emitted", [](v1::Submit& s) { s.set_prompt_tokens(4), s.set_max_tokens(6); }},
      {"temperature", [](v1::Submit& s) { s.mutable_sampling()->set_temperature(-0.1f); }},
      {"temperature", [nan](v1::Submit& s) { s.mutable_sampling()->set_temperature(nan); }},
      {"top_k", [](v1::Submit& s) { s.mutable_sampling()->set_top_k(-7); }},
      {"top_p", [](v1::Submit& s) { s.mutable_sampling()->set_top_p(0); }},
      {"top_p", [nan](v1::Submit& s) { s.mutable_sampling()->set_top_p(nan); }},
      {"min_p", [](v1::Submit& s) { s.mutable_sampling()->set_min_p(1); }},
      {"logprobs 21", [](v1::Submit& s) { s.mutable_sampling()->set_logprobs(21); }},
      {"prompt_logprobs", [](v1::Submit& s) { s.mutable_sampling()->set_prompt_logprobs(-2); }},
      {"choice", [](v1::Submit& s) { s.mutable_sampling()->set_choice(128); }},
      {"stop_token_ids[0] is 97", [](v1::Submit& s) { s.add_stop_token_ids(97); }},
      {"priority", [](v1::Submit& s) { s.set_priority(1 << 30); }},
      {"cache_namespace", [](v1::Submit& s) { s.set_cache_namespace(std::string(2000, 'x')); }},
  };
  uint64_t sequence = 1;
  for (const auto& [message, spoil] : cases) {
    v1::Submit submit = MakeSubmit(sequence, 10, 5);
    spoil(submit);
    router.Submit(submit);
    ASSERT_TRUE(router.ReadEnd(sequence));
    const v1::SequenceDelta& delta = router.seen(sequence).last;
    EXPECT_EQ(delta.finish(), v1::FINISH_ERROR);
    EXPECT_TRUE(delta.rejected()) << message;
    EXPECT_EQ(delta.error_code(), static_cast<int>(absl::StatusCode::kInvalidArgument));
    EXPECT_THAT(delta.error(), HasSubstr(message));
    ++sequence;
  }
  router.Submit(MakeSubmit(sequence, 10, 5));
  ASSERT_TRUE(router.ReadEnd(sequence));
  EXPECT_EQ(router.seen(sequence).tokens, Expected(MakeSubmit(sequence, 10, 5)));
  EXPECT_EQ(server.engine().load().accepted, 1);
  server.ExpectClean();
}

TEST(Frontend, RefusesMoreThanTheQueueHolds) {
  ServerOptions options;
  options.max_waiting = 4;
  TestServer server(options);
  StreamClient router(server.address());
  router.Hello();
  server.decoder().Close();
  router.Submit(MakeSubmit(1, 10, 5));
  server.decoder().AwaitBlocked();
  for (uint64_t i = 2; i <= 60; ++i) router.Submit(MakeSubmit(i, 10, 5));
  ASSERT_TRUE(router.ReadEnd(60));
  EXPECT_TRUE(router.seen(60).last.rejected());
  EXPECT_EQ(router.seen(60).last.error_code(),
            static_cast<int>(absl::StatusCode::kResourceExhausted));
  server.decoder().Open();
  for (uint64_t i = 1; i <= 60; ++i) {
    ASSERT_TRUE(router.ReadEnd(i));
    EXPECT_EQ(router.seen(i).finishes, 1);
  }
  EXPECT_EQ(router.seen(1).tokens, Expected(MakeSubmit(1, 10, 5)));
  server.ExpectClean();
}

TEST(Frontend, ADrainShowsInTheLoadAndFinishesWhatRuns) {
  TestServer server({});
  StreamClient router(server.address());
  router.Hello();
  router.Submit(MakeSubmit(1, 10, 100));
  ASSERT_TRUE(router.ReadUntil([&] { return !router.seen(1).tokens.empty(); }));
  router.Drain();
  ASSERT_TRUE(router.ReadUntil(
      [&] { return !router.loads().empty() && router.loads().back().draining(); }));
  router.Submit(MakeSubmit(2, 10, 5));
  ASSERT_TRUE(router.ReadEnd(2));
  EXPECT_TRUE(router.seen(2).last.rejected());
  EXPECT_EQ(router.seen(2).last.error_code(), static_cast<int>(absl::StatusCode::kUnavailable));
  ASSERT_TRUE(router.ReadEnd(1));
  EXPECT_EQ(router.seen(1).tokens, Expected(MakeSubmit(1, 10, 100)));
  server.ExpectClean();
}

TEST(Frontend, ARouterThatDoesNotReadIsCancelledWithItsSequences) {
  ServerOptions options;
  options.limits.unsent_bytes_max = 64 << 10;
  TestServer server(options);
  StreamClient deaf(server.address());
  deaf.Hello();
  // Each asks for far more logprobs than fit into the transport's own buffers together.
  for (uint64_t i = 1; i <= 16; ++i) {
    v1::Submit submit = MakeSubmit(i, 10, 380);
    submit.mutable_sampling()->set_logprobs(20);
    submit.mutable_sampling()->set_prompt_logprobs(20);
    deaf.Submit(submit);
  }
  // The engine ends them only when the stream is cancelled or all 16 * 380 tokens are out: the
  // former is seen by the finish of the call.
  StreamClient router(server.address());
  router.Hello();
  router.Submit(MakeSubmit(1, 12, 100));
  ASSERT_TRUE(router.ReadEnd(1));
  EXPECT_EQ(router.seen(1).tokens, Expected(MakeSubmit(1, 12, 100)));
  server.ExpectClean();
  EXPECT_FALSE(deaf.ReadUntil([] { return false; }));
  EXPECT_FALSE(deaf.Finish().ok());
  int unfinished = 0;
  for (uint64_t i = 1; i <= 16; ++i) unfinished += deaf.seen(i).finishes == 0 ? 1 : 0;
  EXPECT_GT(unfinished, 0);
}

TEST(Frontend, DemandsTheClusterToken) {
  ServerOptions options;
  options.cluster_token = "secret";
  TestServer server(options);
  for (const std::string& token : {std::string(), std::string("secre"), std::string("secret2")}) {
    StreamClient router(server.address(), token);
    router.Hello();
    const grpc::Status status = router.Finish();
    EXPECT_EQ(status.error_code(), grpc::StatusCode::UNAUTHENTICATED) << token;
  }
  StreamClient router(server.address(), "secret");
  router.Hello();
  ASSERT_TRUE(router.ReadUntil([&] { return !router.welcomes().empty(); }));
  EXPECT_TRUE(router.Finish().ok());
}

TEST(Frontend, RefusesAProtocolItDoesNotSpeakNamingBoth) {
  TestServer server({});
  for (const uint32_t protocol : {0u, kProtocolVersion + 2}) {
    StreamClient router(server.address());
    router.Hello(protocol);
    EXPECT_FALSE(router.ReadUntil([] { return false; }));
    const grpc::Status status = router.Finish();
    EXPECT_EQ(status.error_code(), grpc::StatusCode::FAILED_PRECONDITION);
    EXPECT_THAT(status.error_message(), HasSubstr(std::to_string(protocol)));
  }
}

TEST(Frontend, RefusesSubmissionsBeforeHelloAndASecondHello) {
  TestServer server({});
  StreamClient early(server.address());
  early.Submit(MakeSubmit(1, 10, 5));
  EXPECT_EQ(early.Finish().error_code(), grpc::StatusCode::FAILED_PRECONDITION);
  StreamClient twice(server.address());
  twice.Hello();
  twice.Hello();
  EXPECT_FALSE(twice.ReadUntil([] { return false; }));
  EXPECT_EQ(twice.Finish().error_code(), grpc::StatusCode::INVALID_ARGUMENT);
  server.ExpectClean();
}

TEST(Frontend, EndsACallThatNeverSaysHello) {
  ServerOptions options;
  options.limits.hello_deadline = absl::Milliseconds(20);
  TestServer server(options);
  StreamClient router(server.address());
  EXPECT_FALSE(router.ReadUntil([] { return false; }));
  EXPECT_EQ(router.Finish().error_code(), grpc::StatusCode::DEADLINE_EXCEEDED);
}

TEST(Frontend, EndsTheStreamOfARouterThatReusesALiveNumber) {
  TestServer server({});
  StreamClient router(server.address());
  router.Hello();
  server.decoder().Close();
  router.Submit(MakeSubmit(1, 10, 100));
  server.decoder().AwaitBlocked();
  router.Submit(MakeSubmit(1, 10, 100));
  EXPECT_FALSE(router.ReadUntil([] { return false; }));
  EXPECT_EQ(router.Finish().error_code(), grpc::StatusCode::INVALID_ARGUMENT);
  server.decoder().Open();
  server.ExpectClean();
}

TEST(Frontend, RefusesStreamsBeyondItsBound) {
  ServerOptions options;
  options.limits.streams_max = 1;
  TestServer server(options);
  StreamClient first(server.address());
  first.Hello();
  ASSERT_TRUE(first.ReadUntil([&] { return !first.welcomes().empty(); }));
  StreamClient second(server.address());
  second.Hello();
  EXPECT_EQ(second.Finish().error_code(), grpc::StatusCode::RESOURCE_EXHAUSTED);
  EXPECT_TRUE(first.Finish().ok());
}

TEST(Frontend, TakesAMillionTokenIdsInOneMessage) {
  TestServer server({});
  StreamClient router(server.address());
  router.Hello();
  v1::Submit submit = MakeSubmit(1, 1, 5);
  for (int i = 0; i < 1'500'000; ++i) submit.add_tokens(96);
  router.Submit(submit);
  ASSERT_TRUE(router.ReadEnd(1));
  EXPECT_TRUE(router.seen(1).last.rejected());
  EXPECT_THAT(router.seen(1).last.error(), HasSubstr("the context is 400"));
}

TEST(Frontend, AFailedRankEndsSequencesAndShowsInTheLoad) {
  TestServer server({});
  server.decoder().FailAt(3);
  StreamClient router(server.address());
  router.Hello();
  router.Submit(MakeSubmit(1, 10, 100));
  ASSERT_TRUE(router.ReadEnd(1));
  EXPECT_EQ(router.seen(1).last.finish(), v1::FINISH_ERROR);
  EXPECT_FALSE(router.seen(1).last.rejected());
  ASSERT_TRUE(router.ReadUntil(
      [&] { return !router.loads().empty() && !router.loads().back().failure().empty(); }));
  EXPECT_TRUE(router.loads().back().draining());
  EXPECT_THAT(router.loads().back().failure(), HasSubstr("the fake device broke"));
}

TEST(Frontend, ASecondWorkerOnTheSamePortIsAnErrorThatNamesIt) {
  TestServer server({});
  MonotonicClock clock;
  FrontendOptions options;
  options.listen = server.frontend().endpoint();
  Frontend second(options, server.engine(), clock);
  const absl::Status status = second.Start();
  EXPECT_EQ(status.code(), absl::StatusCode::kUnavailable);
  EXPECT_THAT(std::string(status.message()), HasSubstr(server.address()));
}

TEST(Frontend, EverySequenceEndsOnceUnderRandomCancelsAndDisconnects) {
  TestServer server({});
  for (uint32_t round = 0; round < 6; ++round) {
    StreamClient router(server.address());
    router.Hello();
    for (uint64_t i = 1; i <= 20; ++i) {
      router.Submit(MakeSubmit(i, static_cast<int32_t>(1 + i * 7 % 60), 60));
      if ((i * 2654435761u + round) % 3 == 0) router.Cancel(i / 2 + 1);
    }
    if (round % 2 == 0) {
      for (uint64_t i = 1; i <= 20; ++i) {
        ASSERT_TRUE(router.ReadEnd(i));
        EXPECT_EQ(router.seen(i).finishes, 1);
        if (router.seen(i).last.finish() == v1::FINISH_LENGTH) {
          EXPECT_EQ(router.seen(i).tokens.size(), 60u);
        }
      }
    } else {
      const Seen& some = router.seen(1 + round);
      ASSERT_TRUE(
          router.ReadUntil([&] { return some.tokens.size() > round || some.finishes > 0; }));
      router.Kill();
    }
  }
  server.ExpectClean();
}

TEST(ClusterToken, MatchesOnlyItself) {
  EXPECT_TRUE(TokenMatches("abc", "abc"));
  EXPECT_FALSE(TokenMatches("abc", "abd"));
  EXPECT_FALSE(TokenMatches("abc", "ab"));
  EXPECT_FALSE(TokenMatches("abc", ""));
  EXPECT_FALSE(TokenMatches("abc", std::string("abc\0", 4)));
}

}  // namespace
}  // namespace shoal::worker
