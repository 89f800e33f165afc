// SPDX-License-Identifier: Apache-2.0
// Requests that were under way when a replica ended, and the one among them that may have ended it.
#include <gtest/gtest.h>

#include "router/router_fixture.h"
#include "shoal/v1/inference.grpc.pb.h"

namespace shoal::router {
namespace {

using nlohmann::json;

constexpr char kChat[] = "/v1/chat/completions";
constexpr char kCompletions[] = "/v1/completions";

class Suspect : public RouterFixture {
 protected:
  void SetReady(FakeWorker& worker, bool ready) {
    worker.SendLoad([&](v1::Load* load) { load->set_draining(!ready); });
    AwaitReplica(worker, ready ? "ready" : "draining");
  }
  // Kills `worker` while `other` is there to take over.
  void Replace(FakeWorker& worker, FakeWorker& other) {
    SetReady(other, true);
    worker.Die();
  }
  json Streaming(const std::string& prompt) const {
    json body = Completion(prompt);
    body["stream"] = true;
    body["max_tokens"] = 50;
    return body;
  }
};

TEST_F(Suspect, IsNotTriedAgainAfterTwoCrashes) {
  for (int i = 0; i < 3; ++i) AddWorker();
  StartAll();
  SetReady(*workers_[1], false);
  SetReady(*workers_[2], false);
  RawClient client(http());
  client.Post(kChat, Chat());
  workers_[0]->AwaitSubmit();
  Replace(*workers_[0], *workers_[1]);
  workers_[1]->AwaitSubmit();
  Replace(*workers_[1], *workers_[2]);
  const RawResponse response = client.Read();
  EXPECT_EQ(response.status, 500);
  EXPECT_EQ(response.json()["error"]["code"], "replica_crash") << response.body;
  EXPECT_EQ(response.headers.at("x-should-retry"), "false");
  AwaitAllEnded();
  EXPECT_FALSE(workers_[2]->HasWaitingSubmit());
}

TEST_F(Suspect, OnesFollowOneAnotherEachAfterTheLastHasGivenAToken) {
  for (int i = 0; i < 2; ++i) AddWorker();
  StartAll();
  SetReady(*workers_[1], false);
  json body = Completion("x");
  body["n"] = 3;
  RawClient client(http());
  client.Post(kCompletions, body);
  for (int i = 0; i < 3; ++i) workers_[0]->AwaitSubmit();
  Replace(*workers_[0], *workers_[1]);
  std::vector<v1::Submit> submits;
  for (int i = 0; i < 3; ++i) {
    submits.push_back(workers_[1]->AwaitSubmit());
    AwaitReplica(*workers_[1], "ready");  // some turns of the router
    EXPECT_FALSE(workers_[1]->HasWaitingSubmit()) << i;
    workers_[1]->Emit(submits.back(), {'a'});
  }
  for (const v1::Submit& submit : submits) workers_[1]->Emit(submit, {kEos}, v1::FINISH_STOP);
  const RawResponse response = client.Read();
  EXPECT_EQ(response.status, 200) << response.body;
  EXPECT_EQ(response.json()["choices"].size(), 3u);
}

TEST_F(Suspect, OnProbationAloneIsBlamedForTheNextCrash) {
  for (int i = 0; i < 3; ++i) AddWorker();
  StartAll();
  SetReady(*workers_[1], false);
  SetReady(*workers_[2], false);
  RawClient innocent(http()), poison(http());
  innocent.Post(kCompletions, Streaming("innocent"));
  const v1::Submit first = workers_[0]->AwaitSubmit();
  workers_[0]->Emit(first, {'a'});
  innocent.ReadUntil("\"text\":\"a\"");
  poison.Post(kCompletions, Completion("it"));
  workers_[0]->AwaitSubmit();
  Replace(*workers_[0], *workers_[1]);
  // The innocent one came first, gives a token, and then the other one is tried beside it.
  const v1::Submit second = workers_[1]->AwaitSubmit();
  ASSERT_EQ(second.tokens_size(), first.tokens_size() + 1);
  workers_[1]->Emit(second, {'b'});
  EXPECT_LT(workers_[1]->AwaitSubmit().tokens_size(), first.tokens_size());
  Replace(*workers_[1], *workers_[2]);
  EXPECT_EQ(poison.Read().status, 500);
  const v1::Submit third = workers_[2]->AwaitSubmit();
  ASSERT_EQ(third.tokens_size(), first.tokens_size() + 2);
  workers_[2]->Emit(third, {'c', kEos}, v1::FINISH_STOP);
  EXPECT_NE(innocent.ReadUntil("[DONE]").find("\"text\":\"c\""), std::string::npos);
  AwaitAllEnded();
}

TEST_F(Suspect, IsAlsoOneWhoseReplicaFailedInsteadOfEnding) {
  for (int i = 0; i < 3; ++i) AddWorker();
  StartAll();
  SetReady(*workers_[1], false);
  SetReady(*workers_[2], false);
  RawClient client(http());
  client.Post(kChat, Chat());
  for (int i = 0; i < 2; ++i) {
    const v1::Submit submit = workers_[i]->AwaitSubmit();
    SetReady(*workers_[i + 1], true);
    v1::WorkerMessage message;
    v1::SequenceDelta* delta = message.mutable_deltas()->add_sequences();
    delta->set_sequence(submit.sequence());
    delta->set_attempt(submit.attempt());
    delta->set_finish(v1::FINISH_ERROR);
    delta->set_error_code(static_cast<int>(absl::StatusCode::kUnavailable));
    delta->set_error("the replica failed: a rank");
    workers_[i]->Send(message);
  }
  EXPECT_EQ(client.Read().json()["error"]["code"], "replica_crash");
  EXPECT_FALSE(workers_[2]->HasWaitingSubmit());
}

TEST_F(Suspect, IsNoneWhoseReplicaWasDraining) {
  for (int i = 0; i < 4; ++i) AddWorker();
  StartAll();
  for (int i = 1; i < 4; ++i) SetReady(*workers_[i], false);
  RawClient client(http());
  client.Post(kChat, Chat());
  for (int i = 0; i < 3; ++i) {
    workers_[i]->AwaitSubmit();
    SetReady(*workers_[i], false);
    Replace(*workers_[i], *workers_[i + 1]);
  }
  workers_[3]->Emit(workers_[3]->AwaitSubmit(), {'a', kEos}, v1::FINISH_STOP);
  EXPECT_EQ(client.Read().status, 200);
}

TEST_F(Suspect, AnAnswerContinuedUnderAnotherProfileSaysSo) {
  AddWorker();
  FakeWorkerOptions other;
  other.fingerprint = "fp-b";
  AddWorker(other);
  StartAll();
  for (const bool stream : {false, true}) {
    SetReady(*workers_[0], true);
    SetReady(*workers_[1], false);
    json body = Chat();
    body["stream"] = stream;
    RawClient client(http());
    client.Post(kChat, body);
    const v1::Submit submit = workers_[0]->AwaitSubmit();
    workers_[0]->Emit(submit, {'a'});
    SetReady(*workers_[1], true);
    workers_[0]->Emit(submit, {}, v1::FINISH_CANCELLED);  // as a worker that stops says
    workers_[1]->Emit(workers_[1]->AwaitSubmit(), {'b', kEos}, v1::FINISH_STOP);
    if (!stream) {
      const json answer = client.Read().json();
      EXPECT_EQ(answer["choices"][0]["message"]["content"], "ab");
      EXPECT_EQ(answer["exact"], false) << answer;
      EXPECT_EQ(answer["system_fingerprint"], "fp-b");
      continue;
    }
    const std::vector<std::string> events = SsePayloads(client.Read().body);
    ASSERT_GE(events.size(), 4u);
    EXPECT_FALSE(json::parse(events[1]).contains("exact")) << events[1];
    EXPECT_EQ(json::parse(events[2])["exact"], false) << events[2];
    EXPECT_EQ(json::parse(events[events.size() - 2])["exact"], false);
  }
}

TEST_F(Suspect, AnAnswerOverGrpcContinuedUnderAnotherProfileSaysSo) {
  AddWorker();
  FakeWorkerOptions other;
  other.fingerprint = "fp-b";
  AddWorker(other);
  StartAll();
  SetReady(*workers_[1], false);
  auto stub = v1::Inference::NewStub(
      grpc::CreateChannel(grpc_target(), grpc::InsecureChannelCredentials()));
  grpc::ClientContext context;
  v1::GenerateRequest request;
  request.set_model("tiny");
  request.set_text("hi");
  auto reader = stub->Generate(&context, request);
  const v1::Submit submit = workers_[0]->AwaitSubmit();
  workers_[0]->Emit(submit, {'a'});
  SetReady(*workers_[1], true);
  workers_[0]->Emit(submit, {}, v1::FINISH_CANCELLED);
  workers_[1]->Emit(workers_[1]->AwaitSubmit(), {'b', kEos}, v1::FINISH_STOP);
  v1::GenerateResponse response;
  ASSERT_TRUE(reader->Read(&response));
  EXPECT_FALSE(response.inexact());
  ASSERT_TRUE(reader->Read(&response));
  EXPECT_TRUE(response.inexact());
  EXPECT_EQ(response.system_fingerprint(), "fp-b");
  while (reader->Read(&response)) {
  }
  EXPECT_TRUE(reader->Finish().ok());
}

}  // namespace
}  // namespace shoal::router
