// SPDX-License-Identifier: Apache-2.0
// Replicas that reject, stall and die, clients that leave or lag, and a router that is full.
#include <gtest/gtest.h>

#include <set>
#include <thread>

#include "absl/strings/str_cat.h"
#include "absl/time/clock.h"
#include "router/router_fixture.h"

namespace shoal::router {
namespace {

using nlohmann::json;

constexpr char kChat[] = "/v1/chat/completions";
constexpr char kCompletions[] = "/v1/completions";

class Failure : public RouterFixture {
 protected:
  json Streaming() const {
    json body = Chat();
    body["stream"] = true;
    return body;
  }
  // The worker that got the next submission.
  FakeWorker& Taker(v1::Submit* submit) {
    const absl::Time give_up = absl::Now() + kPatience;
    while (absl::Now() < give_up) {
      for (auto& worker : workers_) {
        if (worker->HasWaitingSubmit()) {
          *submit = worker->AwaitSubmit();
          return *worker;
        }
      }
      std::this_thread::yield();
    }
    ADD_FAILURE() << "no submission arrived";
    return *workers_[0];
  }
  FakeWorker& Other(const FakeWorker& worker) {
    return &worker == workers_[0].get() ? *workers_[1] : *workers_[0];
  }
};

TEST_F(Failure, SendsTheClusterToken) {
  options_.cluster_token = "s3cret";
  FakeWorker& worker = AddWorker();
  StartAll();
  EXPECT_EQ(worker.cluster_token(), "s3cret");
}

TEST_F(Failure, RetriesARejectedRequestElsewhere) {
  AddWorker();
  AddWorker();
  StartAll();
  for (const absl::StatusCode code :
       {absl::StatusCode::kUnavailable, absl::StatusCode::kResourceExhausted}) {
    RawClient client(http());
    client.Post(kChat, Chat());
    v1::Submit submit;
    FakeWorker& first = Taker(&submit);
    first.Reject(submit, code, "no room");
    const v1::Submit again = Other(first).AwaitSubmit();
    EXPECT_EQ(again.attempt(), 2u);
    EXPECT_EQ(again.sampling().seed(), submit.sampling().seed());
    Other(first).Emit(again, {'a', kEos}, v1::FINISH_STOP);
    EXPECT_EQ(client.Read().json()["choices"][0]["message"]["content"], "a");
  }
  AwaitAllEnded();
}

TEST_F(Failure, Says429WhenEveryReplicaIsFull) {
  AddWorker();
  AddWorker();
  StartAll();
  RawClient client(http());
  client.Post(kChat, Streaming());
  for (int i = 0; i < 2; ++i) {
    v1::Submit submit;
    FakeWorker& worker = Taker(&submit);
    worker.Reject(submit, absl::StatusCode::kResourceExhausted, "queue full");
  }
  const RawResponse response = client.Read();
  EXPECT_EQ(response.status, 429);  // and no 200 before it, though it streams
  EXPECT_EQ(response.headers.count("retry-after"), 1u);
}

TEST_F(Failure, PassesOnWhatAReplicaRefuses) {
  FakeWorker& worker = AddWorker();
  StartAll();
  RawClient client(http());
  client.Post(kChat, Streaming());
  worker.Reject(worker.AwaitSubmit(), absl::StatusCode::kInvalidArgument, "too long");
  const RawResponse response = client.Read();
  EXPECT_EQ(response.status, 400);
  EXPECT_EQ(response.json()["error"]["message"], "too long");
}

TEST_F(Failure, Says503WithoutAReplica) {
  options_.replicas.push_back({"chat/0", "tiny", {"127.0.0.1", 1}});
  StartOnly();
  EXPECT_EQ(FetchGet(http(), "/ready").status, 503);
  EXPECT_EQ(FetchGet(http(), "/health").status, 200);
  const RawResponse response = Fetch(http(), kChat, Chat());
  EXPECT_EQ(response.status, 503);
  EXPECT_EQ(response.headers.count("retry-after"), 1u);
  EXPECT_EQ(response.json()["error"]["code"], "no_replica");
}

TEST_F(Failure, ContinuesAStreamOnAnotherReplicaAfterADeath) {
  AddWorker();
  AddWorker();
  StartAll();
  RawClient client(http());
  client.Post(kChat, Streaming());
  v1::Submit submit;
  FakeWorker& first = Taker(&submit);
  first.Emit(submit, {'a'});
  first.Emit(submit, {'b'});
  EXPECT_NE(client.ReadUntil("\"content\":\"b\"").find("\"content\":\"a\""), std::string::npos);
  first.Die();
  const v1::Submit again = Other(first).AwaitSubmit();
  EXPECT_EQ(again.prompt_tokens(), submit.prompt_tokens());
  ASSERT_EQ(again.tokens_size(), submit.tokens_size() + 2);
  EXPECT_EQ(again.tokens(submit.tokens_size()), 'a');
  EXPECT_EQ(again.tokens(submit.tokens_size() + 1), 'b');
  Other(first).Emit(again, {'c', kEos}, v1::FINISH_STOP);
  const std::string rest = client.ReadUntil("[DONE]");
  EXPECT_NE(rest.find("\"content\":\"c\""), std::string::npos) << rest;
  EXPECT_EQ(rest.find("error"), std::string::npos);
  AwaitAllEnded();
}

TEST_F(Failure, DropsLateDeltasOfAnOlderAttempt) {
  options_.deadlines.step = absl::Seconds(5);
  tuning_.health.step = absl::Seconds(5);
  AddWorker();
  AddWorker();
  StartAll();
  RawClient client(http());
  client.Post(kChat, Chat());
  v1::Submit submit;
  FakeWorker& first = Taker(&submit);
  first.Emit(submit, {'a'});
  // It says itself that it makes no progress; then it wakes up.
  first.SendLoad([](v1::Load* load) { load->set_stalled_ms(5001); });
  const v1::Submit again = Other(first).AwaitSubmit();
  EXPECT_EQ(first.AwaitCancel().sequence(), submit.sequence());
  first.Emit(submit, {'x'}, v1::FINISH_LENGTH);
  first.SendLoad([](v1::Load* load) { load->set_steps(9); });
  AwaitReplica(first, "ready");
  Other(first).Emit(again, {'b', kEos}, v1::FINISH_STOP);
  EXPECT_EQ(client.Read().json()["choices"][0]["message"]["content"], "ab");
  EXPECT_GE(Metric("shoal_router_dropped_tokens_total"), 1);
}

TEST_F(Failure, SendsNothingToADrainingOrSilentReplica) {
  AddWorker();
  AddWorker().Script({'a', kEos});
  StartAll();
  workers_[0]->SendLoad([](v1::Load* load) { load->set_draining(true); });
  AwaitReplica(*workers_[0], "draining");
  for (int i = 0; i < 4; ++i) EXPECT_EQ(Fetch(http(), kChat, Chat()).status, 200);
  EXPECT_FALSE(workers_[0]->HasWaitingSubmit());
}

TEST_F(Failure, NoticesASilentReplica) {
  tuning_.health.silence = absl::Milliseconds(100);
  AddWorker();  // says Welcome, and then nothing
  StartOnly();
  AwaitReplica(*workers_[0], "stalled");
}

TEST_F(Failure, EndsAStreamWithAnErrorEventWhenNoReplicaIsLeft) {
  options_.deadlines.first_token_retry = absl::Milliseconds(50);
  FakeWorker& worker = AddWorker();
  StartAll();
  RawClient client(http());
  client.Post(kChat, Streaming());
  const v1::Submit submit = worker.AwaitSubmit();
  worker.Emit(submit, {'a'});
  client.ReadUntil("\"content\":\"a\"");
  worker.Die();
  const std::string rest = client.ReadUntil("0\r\n\r\n");
  EXPECT_NE(rest.find("\"error\""), std::string::npos) << rest;
  EXPECT_EQ(rest.find("[DONE]"), std::string::npos);
  EXPECT_EQ(rest.find("\"finish_reason\":\"stop\""), std::string::npos);
  AwaitAllEnded();
}

TEST_F(Failure, ServesAgainAfterTheReplicaHasRestarted) {
  FakeWorker& worker = AddWorker();
  StartAll();
  const int port = worker.port();
  worker.Die();
  AwaitReady(false);
  FakeWorkerOptions options;
  options.port = port;
  options.incarnation = 8;
  workers_[0] = std::make_unique<FakeWorker>(options);
  workers_[0]->Script({'a', kEos});
  AwaitReady(true);
  EXPECT_EQ(Fetch(http(), kChat, Chat()).status, 200);
}

TEST_F(Failure, RefusesAReplicaWithAnotherModelOrVocabulary) {
  FakeWorkerOptions small;
  small.vocab_size = 100;
  AddWorker(small);
  AddWorker().Script({'a', kEos});
  StartOnly();
  AwaitReady(true);
  AwaitReplica(*workers_[0], "down");
  for (int i = 0; i < 3; ++i) EXPECT_EQ(Fetch(http(), kChat, Chat()).status, 200);
  EXPECT_FALSE(workers_[0]->HasWaitingSubmit());
}

TEST_F(Failure, CancelsAtTheWorkerWhenTheClientLeaves) {
  FakeWorker& worker = AddWorker();
  StartAll();
  // Whole answer, stream before its first token, stream after it.
  for (int kind = 0; kind < 3; ++kind) {
    RawClient client(http());
    client.Post(kChat, kind == 0 ? Chat() : Streaming());
    const v1::Submit submit = worker.AwaitSubmit();
    if (kind == 2) {
      worker.Emit(submit, {'a'});
      client.ReadUntil("\"content\":\"a\"");
    }
    client.Close();
    EXPECT_EQ(worker.AwaitCancel().sequence(), submit.sequence()) << kind;
    worker.Emit(submit, {}, v1::FINISH_CANCELLED);
  }
  AwaitAllEnded();
}

TEST_F(Failure, CancelsAllChoicesWhenTheClientLeaves) {
  FakeWorker& worker = AddWorker();
  StartAll();
  json body = Streaming();
  body["n"] = 4;
  RawClient client(http());
  client.Post(kChat, body);
  std::set<uint64_t> submitted, cancelled;
  for (int i = 0; i < 4; ++i) submitted.insert(worker.AwaitSubmit().sequence());
  client.Close();
  for (int i = 0; i < 4; ++i) cancelled.insert(worker.AwaitCancel().sequence());
  EXPECT_EQ(submitted, cancelled);
}

TEST_F(Failure, QueuesUpToTheLimitAndRefusesBeyond) {
  options_.router.max_inflight = 1;
  options_.router.max_queue = 1;
  FakeWorker& worker = AddWorker();
  StartAll();
  RawClient running(http()), queued(http());
  running.Post(kChat, Chat());
  const v1::Submit submit = worker.AwaitSubmit();
  queued.Post(kChat, Chat());
  const absl::Time give_up = absl::Now() + kPatience;
  while (Metric("shoal_router_requests_accepted") != 2 && absl::Now() < give_up) {
    std::this_thread::yield();
  }
  RawClient refused(http());
  // Refused from its head alone: the body is never sent.
  refused.Send(absl::StrCat("POST ", kChat, " HTTP/1.1\r\nContent-Length: 1000000\r\n\r\n"));
  const RawResponse response = refused.Read();
  EXPECT_EQ(response.status, 429);
  EXPECT_EQ(response.headers.at("retry-after"), "1");
  EXPECT_EQ(response.json()["error"]["code"], "overloaded");
  EXPECT_FALSE(worker.HasWaitingSubmit());
  worker.Emit(submit, {kEos}, v1::FINISH_STOP);
  EXPECT_EQ(running.Read().status, 200);
  worker.Emit(worker.AwaitSubmit(), {kEos}, v1::FINISH_STOP);
  EXPECT_EQ(queued.Read().status, 200);
}

TEST_F(Failure, CancelsAQueuedRequestWhoseClientLeaves) {
  options_.router.max_inflight = 1;
  options_.router.max_queue = 5;
  FakeWorker& worker = AddWorker();
  StartAll();
  RawClient running(http());
  running.Post(kChat, Chat());
  const v1::Submit submit = worker.AwaitSubmit();
  {
    RawClient queued(http());
    queued.Post(kChat, Chat());
    const absl::Time give_up = absl::Now() + kPatience;
    while (Metric("shoal_router_requests_accepted") != 2 && absl::Now() < give_up) {
      std::this_thread::yield();
    }
  }
  const absl::Time give_up = absl::Now() + kPatience;
  while (Metric("shoal_router_requests_ended") != 1 && absl::Now() < give_up) {
    std::this_thread::yield();
  }
  worker.Emit(submit, {kEos}, v1::FINISH_STOP);
  EXPECT_EQ(running.Read().status, 200);
  AwaitAllEnded();
  EXPECT_FALSE(worker.HasWaitingSubmit());
}

TEST_F(Failure, SendsKeepAliveCommentsWhileAStreamWaits) {
  tuning_.keep_alive = absl::Milliseconds(30);
  FakeWorker& worker = AddWorker();
  StartAll();
  RawClient client(http());
  client.Post(kChat, Streaming());
  EXPECT_NE(client.ReadUntil(": keep-alive\n\n").find("200 OK"), std::string::npos);
  worker.Emit(worker.AwaitSubmit(), {'a', kEos}, v1::FINISH_STOP);
  EXPECT_NE(client.ReadUntil("[DONE]").find("\"role\":\"assistant\""), std::string::npos);
}

TEST_F(Failure, CancelsAClientThatDoesNotRead) {
  tuning_.client_buffer_max = 64 << 10;
  FakeWorker& worker = AddWorker();
  StartAll();
  RawClient lazy(http());
  lazy.Post(kChat, Streaming());
  const v1::Submit submit = worker.AwaitSubmit();
  const std::vector<int32_t> lot(2000, kComma);
  // More than the sockets' buffers take; ends as soon as the router has had enough.
  for (int i = 0; i < 4000 && !worker.HasWaitingCancel(); ++i) worker.Emit(submit, lot);
  EXPECT_EQ(worker.AwaitCancel().sequence(), submit.sequence());
  AwaitAllEnded();
}

TEST_F(Failure, EndsARequestAtItsDeadline) {
  options_.deadlines.request = absl::Seconds(1);
  FakeWorker& worker = AddWorker();
  StartAll();
  const RawResponse response = Fetch(http(), kChat, Chat());
  EXPECT_EQ(response.status, 504);
  EXPECT_EQ(response.headers.at("x-should-retry"), "false");
  const v1::Submit submit = worker.AwaitSubmit();
  EXPECT_GT(submit.deadline_ms(), 0u);
  EXPECT_EQ(worker.AwaitCancel().sequence(), submit.sequence());
}

TEST_F(Failure, DrainsWhatRunsAndRefusesWhatIsNew) {
  FakeWorker& worker = AddWorker();
  StartAll();
  const int port = http();
  RawClient running(port), late(port);
  running.Post(kChat, Streaming());
  const v1::Submit submit = worker.AwaitSubmit();
  absl::Status drained;
  std::thread drain([&] { drained = router_->Drain(absl::Seconds(20)); });
  const absl::Time give_up = absl::Now() + kPatience;
  while (router_->ready() && absl::Now() < give_up) std::this_thread::yield();
  late.Get("/ready");
  EXPECT_EQ(late.Read().status, 503);
  late.Post(kChat, Chat());
  const RawResponse refused = late.Read();
  EXPECT_EQ(refused.status, 503);
  EXPECT_EQ(refused.json()["error"]["code"], "shutting_down");
  worker.Emit(submit, {'a', kEos}, v1::FINISH_STOP);
  EXPECT_EQ(SsePayloads(running.Read().body).back(), "[DONE]");
  drain.join();
  EXPECT_TRUE(drained.ok()) << drained;
}

TEST_F(Failure, TellsClientsThatAreCutOffByADrain) {
  FakeWorker& worker = AddWorker();
  StartAll();
  RawClient stream(http()), whole(http());
  stream.Post(kChat, Streaming());
  worker.Emit(worker.AwaitSubmit(), {'a'});
  stream.ReadUntil("\"content\":\"a\"");
  whole.Post(kChat, Chat());
  worker.AwaitSubmit();
  EXPECT_EQ(router_->Drain(absl::ZeroDuration()).code(), absl::StatusCode::kDeadlineExceeded);
  EXPECT_NE(stream.ReadUntil("0\r\n\r\n").find("\"error\""), std::string::npos);
  EXPECT_EQ(whole.Read().status, 503);
}

TEST_F(Failure, SpreadsRequestsOverReplicas) {
  AddWorker().Script({'a', kEos});
  AddWorker().Script({'a', kEos});
  StartAll();
  for (int i = 0; i < 10; ++i) {
    EXPECT_EQ(Fetch(http(), kCompletions, Completion("x")).status, 200);
  }
  EXPECT_GE(Metric("shoal_router_selections_total{replica=\"chat/0\"}"), 3);
  EXPECT_GE(Metric("shoal_router_selections_total{replica=\"chat/1\"}"), 3);
}

}  // namespace
}  // namespace shoal::router
