// SPDX-License-Identifier: Apache-2.0
// What a worker's front end refuses, and that others do not notice.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cstdint>
#include <functional>
#include <limits>
#include <string>
#include <utility>
#include <vector>

#include "worker/frontend_harness.h"
#include "worker/stream_client.h"

namespace shoal::worker {
namespace {

using testing::HasSubstr;

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

}  // namespace
}  // namespace shoal::worker
