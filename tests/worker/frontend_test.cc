// SPDX-License-Identifier: Apache-2.0
// What a router sees of a worker over loopback gRPC, with the real engine and scheduler and the
// fake model.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cstdint>
#include <vector>

#include "worker/frontend_harness.h"
#include "worker/stream_client.h"

namespace shoal::worker {
namespace {

using testing::HasSubstr;

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

TEST(Frontend, GreetsBeforeItReportsToARouterHoweverBusyItIsReporting) {
  ServerOptions options;
  options.limits.load_interval_min = absl::Milliseconds(1);
  TestServer server(options);
  StreamClient other(server.address());
  other.Hello(kProtocolVersion, 1);
  for (int i = 0; i < 40; ++i) {
    StreamClient router(server.address());
    router.Hello(kProtocolVersion, 1);
    ASSERT_TRUE(router.ReadUntil([&] { return !router.welcomes().empty(); }));
    EXPECT_TRUE(router.loads().empty()) << "a load of an incarnation it does not know yet";
    EXPECT_TRUE(router.Finish().ok());
  }
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

TEST(Frontend, TakesANumberAgainOnceItsSequenceHasEnded) {
  TestServer server({});
  StreamClient router(server.address());
  router.Hello();
  for (const int32_t prompt : {10, 14}) {
    const v1::Submit submit = MakeSubmit(1, prompt, 5);
    router.Submit(submit);
    ASSERT_TRUE(router.ReadEnd(1));
    EXPECT_EQ(router.seen(1).tokens, Expected(submit));
    router.seen(1) = {};
  }
  EXPECT_TRUE(router.Finish().ok());
  EXPECT_EQ(server.engine().load().accepted, 2);
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

}  // namespace
}  // namespace shoal::worker
