// SPDX-License-Identifier: Apache-2.0
// The public gRPC service.
#include <grpcpp/generic/generic_stub.h>
#include <grpcpp/grpcpp.h>
#include <gtest/gtest.h>

#include <atomic>
#include <cmath>
#include <thread>

#include "absl/strings/str_cat.h"
#include "absl/time/clock.h"
#include "router/router_fixture.h"
#include "shoal/v1/inference.grpc.pb.h"

namespace shoal::router {
namespace {

class GrpcApi : public RouterFixture {
 protected:
  std::unique_ptr<v1::Inference::Stub> Stub() {
    grpc::ChannelArguments arguments;
    arguments.SetMaxSendMessageSize(-1);
    return v1::Inference::NewStub(
        grpc::CreateCustomChannel(grpc_target(), grpc::InsecureChannelCredentials(), arguments));
  }
  static v1::GenerateRequest Request(const std::string& text) {
    v1::GenerateRequest request;
    request.set_model("tiny");
    request.set_text(text);
    return request;
  }
  grpc::Status Generate(const v1::GenerateRequest& request,
                        std::vector<v1::GenerateResponse>* responses) {
    grpc::ClientContext context;
    auto reader = Stub()->Generate(&context, request);
    v1::GenerateResponse response;
    while (reader->Read(&response)) responses->push_back(response);
    return reader->Finish();
  }
};

TEST_F(GrpcApi, StreamsTokensTextLogprobsAndUsage) {
  AddWorker().Script({kHello, '!', kEos});
  StartAll();
  v1::GenerateRequest request = Request("hi");
  request.mutable_options()->set_logprobs(1);
  std::vector<v1::GenerateResponse> responses;
  const grpc::Status status = Generate(request, &responses);
  ASSERT_TRUE(status.ok()) << status.error_message();
  ASSERT_EQ(responses.size(), 3u);
  EXPECT_EQ(responses[0].text(), "Hello");
  EXPECT_EQ(responses[0].token_ids(0), kHello);
  EXPECT_EQ(responses[0].prompt_token_ids_size(), 2);
  EXPECT_EQ(responses[0].logprobs(0).chosen().token(), "Hello");
  EXPECT_EQ(responses[0].logprobs(0).top_size(), 1);
  EXPECT_EQ(responses[0].system_fingerprint(), "fp-a");
  EXPECT_EQ(responses[1].prompt_token_ids_size(), 0);
  EXPECT_EQ(responses[2].finish_reason(), v1::FINISH_REASON_STOP);
  EXPECT_EQ(responses[2].usage().prompt_tokens(), 2);
  EXPECT_EQ(responses[2].usage().completion_tokens(), 3);
  EXPECT_FALSE(responses[1].has_usage());
}

TEST_F(GrpcApi, ChatsTokenizesAndDetokenizes) {
  AddWorker().Script({'a', kEos});
  StartAll();
  auto stub = Stub();
  v1::ChatRequest chat;
  chat.set_model("tiny");
  v1::ChatMessage* message = chat.add_messages();
  message->set_role("user");
  message->set_content("hi");
  grpc::ClientContext context;
  auto reader = stub->Chat(&context, chat);
  v1::GenerateResponse response;
  std::string text;
  while (reader->Read(&response)) text += response.text();
  EXPECT_TRUE(reader->Finish().ok());
  EXPECT_EQ(text, "a");
  v1::TokenizeRequest tokenize;
  tokenize.set_model("tiny");
  *tokenize.mutable_messages()->add_messages() = *message;
  v1::TokenizeResponse tokens;
  grpc::ClientContext context2;
  ASSERT_TRUE(stub->Tokenize(&context2, tokenize, &tokens).ok());
  EXPECT_EQ(tokens.token_ids_size(), 8);
  v1::DetokenizeRequest detokenize;
  detokenize.set_model("tiny");
  *detokenize.mutable_token_ids() = tokens.token_ids();
  v1::DetokenizeResponse plain;
  grpc::ClientContext context3;
  ASSERT_TRUE(stub->Detokenize(&context3, detokenize, &plain).ok());
  EXPECT_EQ(plain.text(), "user:hi\n");
  detokenize.add_token_ids(-1);
  grpc::ClientContext context4;
  EXPECT_EQ(stub->Detokenize(&context4, detokenize, &plain).error_code(),
            grpc::StatusCode::INVALID_ARGUMENT);
}

TEST_F(GrpcApi, RefusesWhatHttpRefuses) {
  AddWorker();
  StartAll();
  using Change = void (*)(v1::GenerateRequest*);
  const std::pair<Change, grpc::StatusCode> cases[] = {
      {[](v1::GenerateRequest* r) { r->set_model("x"); }, grpc::StatusCode::NOT_FOUND},
      {[](v1::GenerateRequest* r) { r->clear_prompt(); }, grpc::StatusCode::INVALID_ARGUMENT},
      {[](v1::GenerateRequest* r) { r->set_text(""); }, grpc::StatusCode::INVALID_ARGUMENT},
      {[](v1::GenerateRequest* r) { r->mutable_token_ids(); }, grpc::StatusCode::INVALID_ARGUMENT},
      {[](v1::GenerateRequest* r) { r->mutable_token_ids()->add_ids(-1); },
       grpc::StatusCode::INVALID_ARGUMENT},
      {[](v1::GenerateRequest* r) { r->mutable_options()->set_n(0); },
       grpc::StatusCode::INVALID_ARGUMENT},
      {[](v1::GenerateRequest* r) { r->mutable_options()->set_logprobs(21); },
       grpc::StatusCode::INVALID_ARGUMENT},
      {[](v1::GenerateRequest* r) {
         r->mutable_options()->mutable_sampling()->set_temperature(std::nanf(""));
       },
       grpc::StatusCode::INVALID_ARGUMENT},
      {[](v1::GenerateRequest* r) { r->mutable_options()->mutable_sampling()->set_top_p(0); },
       grpc::StatusCode::INVALID_ARGUMENT},
      {[](v1::GenerateRequest* r) { r->mutable_options()->mutable_stop()->add_strings(""); },
       grpc::StatusCode::INVALID_ARGUMENT},
      {[](v1::GenerateRequest* r) { r->mutable_options()->mutable_stop()->set_max_tokens(9999); },
       grpc::StatusCode::INVALID_ARGUMENT},
  };
  for (const auto& [change, code] : cases) {
    v1::GenerateRequest request = Request("hi");
    change(&request);
    std::vector<v1::GenerateResponse> responses;
    const grpc::Status status = Generate(request, &responses);
    EXPECT_EQ(status.error_code(), code) << request.ShortDebugString() << status.error_message();
    EXPECT_TRUE(responses.empty());
  }
  AwaitAllEnded();
}

TEST_F(GrpcApi, PassesCancellationAndDeadlineOn) {
  FakeWorker& worker = AddWorker();
  StartAll();
  auto stub = Stub();
  grpc::ClientContext context;
  auto reader = stub->Generate(&context, Request("hi"));
  const v1::Submit submit = worker.AwaitSubmit();
  context.TryCancel();
  EXPECT_EQ(worker.AwaitCancel().sequence(), submit.sequence());
  v1::GenerateResponse response;
  EXPECT_FALSE(reader->Read(&response));
  EXPECT_EQ(reader->Finish().error_code(), grpc::StatusCode::CANCELLED);
  grpc::ClientContext short_context;
  short_context.set_deadline(absl::ToChronoTime(absl::Now() + absl::Seconds(2)));
  auto second = stub->Generate(&short_context, Request("hi"));
  const v1::Submit limited = worker.AwaitSubmit();
  EXPECT_LT(limited.deadline_ms(), 10'000u);  // not the router's own 600 s
  EXPECT_FALSE(second->Read(&response));
  EXPECT_EQ(second->Finish().error_code(), grpc::StatusCode::DEADLINE_EXCEEDED);
  EXPECT_EQ(worker.AwaitCancel().sequence(), limited.sequence());
  AwaitAllEnded();
}

TEST_F(GrpcApi, ContinuesAStreamAfterADeath) {
  AddWorker();
  AddWorker();
  StartAll();
  auto stub = Stub();
  grpc::ClientContext context;
  auto reader = stub->Generate(&context, Request("hi"));
  v1::GenerateResponse response;
  FakeWorker* first = nullptr;
  while (first == nullptr) {
    for (auto& worker : workers_) {
      if (worker->HasWaitingSubmit()) first = worker.get();
    }
  }
  FakeWorker& other = first == workers_[0].get() ? *workers_[1] : *workers_[0];
  other.Script({'a', 'b', 'c', kEos});
  first->Emit(first->AwaitSubmit(), {'a'});
  ASSERT_TRUE(reader->Read(&response));
  std::string text = response.text();
  first->Die();
  while (reader->Read(&response)) text += response.text();
  EXPECT_TRUE(reader->Finish().ok());
  EXPECT_EQ(text, "abc");
}

TEST_F(GrpcApi, CancelsAClientThatDoesNotRead) {
  tuning_.client_buffer_max = 64 << 10;
  FakeWorker& worker = AddWorker();
  StartAll();
  auto stub = Stub();
  grpc::ClientContext context;
  auto reader = stub->Generate(&context, Request("hi"));
  const v1::Submit submit = worker.AwaitSubmit();
  const std::vector<int32_t> lot(2000, kComma);
  for (int i = 0; i < 4000 && !worker.HasWaitingCancel(); ++i) worker.Emit(submit, lot);
  EXPECT_EQ(worker.AwaitCancel().sequence(), submit.sequence());
  context.TryCancel();
  v1::GenerateResponse response;
  while (reader->Read(&response)) {
  }
  EXPECT_FALSE(reader->Finish().ok());
}

TEST_F(GrpcApi, ListsModelsAndShowsTheCluster) {
  AddWorker().Script({'a', kEos});
  StartAll();
  std::vector<v1::GenerateResponse> responses;
  ASSERT_TRUE(Generate(Request("hi"), &responses).ok());
  AwaitAllEnded();
  auto stub = Stub();
  grpc::ClientContext context;
  v1::ListModelsResponse models;
  ASSERT_TRUE(stub->ListModels(&context, {}, &models).ok());
  EXPECT_EQ(models.models(0).name(), "tiny");
  EXPECT_EQ(models.models(0).context(), 4096);
  grpc::ClientContext context2;
  v1::GetClusterStateResponse state;
  ASSERT_TRUE(stub->GetClusterState(&context2, {}, &state).ok());
  EXPECT_EQ(state.cluster(), "test");
  EXPECT_EQ(state.replicas(0).state(), "ready");
  EXPECT_EQ(state.replicas(0).incarnation(), 7u);
  EXPECT_EQ(state.requests_accepted(), 1);
  EXPECT_EQ(state.requests_ended(), 1);
}

// Each report replaces the state that a call may be reading.
TEST_F(GrpcApi, ShowsAWholeClusterStateWhileReportsArrive) {
  FakeWorkerOptions options;
  options.fingerprint = std::string(200, 'f');
  FakeWorker& worker = AddWorker(options);
  StartAll();
  std::atomic<int> reading{3};
  std::vector<std::thread> readers;
  for (int i = 0; i < 3; ++i) {
    readers.emplace_back([&] {
      auto stub = Stub();
      for (int call = 0; call < 500; ++call) {
        grpc::ClientContext context;
        v1::GetClusterStateResponse state;
        const grpc::Status status = stub->GetClusterState(&context, {}, &state);
        EXPECT_TRUE(status.ok()) << status.error_message();
        if (!status.ok() || state.replicas_size() != 1) break;
        EXPECT_EQ(state.replicas(0).system_fingerprint(), options.fingerprint);
      }
      --reading;
    });
  }
  for (int64_t steps = 1; reading > 0; ++steps) {
    worker.SendLoad([steps](v1::Load* load) { load->set_steps(static_cast<uint64_t>(steps)); });
  }
  for (std::thread& reader : readers) reader.join();
}

TEST_F(GrpcApi, IsNotReachedByBytesThatAreNoMessage) {
  AddWorker().Script({'a', kEos});
  StartAll();
  grpc::GenericStub raw(grpc::CreateChannel(grpc_target(), grpc::InsecureChannelCredentials()));
  for (const char* method : {"Tokenize", "ListModels"}) {
    const grpc::Slice slice(std::string("\x0a\xff\xff"));  // a field that is cut off
    grpc::ByteBuffer request(&slice, 1), response;
    grpc::ClientContext context;
    grpc::CompletionQueue queue;
    auto call = raw.PrepareUnaryCall(&context, absl::StrCat("/shoal.v1.Inference/", method),
                                     request, &queue);
    call->StartCall();
    grpc::Status status;
    call->Finish(&response, &status, this);
    void* tag = nullptr;
    bool ok = false;
    ASSERT_TRUE(queue.Next(&tag, &ok));
    // The library's own answer, see docs/api.md.
    EXPECT_EQ(status.error_code(), grpc::StatusCode::UNIMPLEMENTED) << method;
  }
  grpc::ClientContext context;
  v1::ListModelsResponse models;
  EXPECT_TRUE(Stub()->ListModels(&context, {}, &models).ok());
}

TEST_F(GrpcApi, RefusesMessagesBeyondTheBodyLimit) {
  options_.router.max_body_bytes = 10'000;
  AddWorker();
  StartAll();
  std::vector<v1::GenerateResponse> responses;
  EXPECT_EQ(Generate(Request(std::string(20'000, 'x')), &responses).error_code(),
            grpc::StatusCode::RESOURCE_EXHAUSTED);
}

}  // namespace
}  // namespace shoal::router
