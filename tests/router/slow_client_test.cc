// SPDX-License-Identifier: Apache-2.0
// Clients that stop sending, stop reading, or only hold connections open.
#include <gtest/gtest.h>

#include <atomic>
#include <thread>

#include "absl/strings/str_cat.h"
#include "absl/time/clock.h"
#include "router/router_fixture.h"
#include "shoal/v1/inference.grpc.pb.h"

namespace shoal::router {
namespace {

using nlohmann::json;

constexpr char kChat[] = "/v1/chat/completions";
constexpr size_t kMiB = 1 << 20;

class SlowClient : public RouterFixture {
 protected:
  json Streaming() const {
    json body = Chat();
    body["stream"] = true;
    return body;
  }
};

TEST_F(SlowClient, GetsItsAnswerAfterItHasEndedItsInput) {
  FakeWorker& worker = AddWorker();
  StartAll();
  RawClient client(http());
  client.Post(kChat, Chat());
  client.EndInput();
  const v1::Submit submit = worker.AwaitSubmit();
  // The interim response asks whether the client still reads.
  EXPECT_EQ(client.ReadHead().status, 100);
  worker.Emit(submit, {'o', 'k', kEos}, v1::FINISH_STOP);
  const RawResponse response = client.Read();
  EXPECT_EQ(response.status, 200);
  EXPECT_EQ(response.json()["choices"][0]["message"]["content"], "ok");
  EXPECT_TRUE(client.AtEnd());
  EXPECT_FALSE(worker.HasWaitingCancel());
}

TEST_F(SlowClient, GetsTheRestOfItsStreamAfterItHasEndedItsInput) {
  FakeWorker& worker = AddWorker();
  StartAll();
  RawClient client(http());
  client.Post(kChat, Streaming());
  const v1::Submit submit = worker.AwaitSubmit();
  worker.Emit(submit, {'a'});
  client.ReadUntil("\"content\":\"a\"");
  client.EndInput();
  EXPECT_NE(client.ReadUntil(":\n\n"), "");  // a comment asks whether the client still reads
  worker.Emit(submit, {'b', kEos}, v1::FINISH_STOP);
  EXPECT_NE(client.ReadUntil("[DONE]").find("\"content\":\"b\""), std::string::npos);
  EXPECT_FALSE(worker.HasWaitingCancel());
}

TEST_F(SlowClient, GetsAllAnswersOfAPipelineAfterItHasEndedItsInput) {
  AddWorker();
  StartAll();
  RawClient client(http());
  client.Get("/health");
  client.Get("/version");
  client.Get("/nothing");
  client.Send("GET /health HTT");  // a fragment gets none
  client.EndInput();
  for (const int expected : {200, 200, 404}) {
    RawResponse response = client.Read();
    if (response.status == 100) response = client.Read();  // asked whether it still reads
    EXPECT_EQ(response.status, expected);
  }
  EXPECT_TRUE(client.AtEnd());
}

TEST_F(SlowClient, IsCancelledAtTheWorkerWhenItTakesNothingForTooLong) {
  tuning_.client_buffer_max = 64 * kMiB;  // so that only time can be the reason
  tuning_.connection.output_bytes_max = 64 * kMiB;
  tuning_.connection.write_stall = absl::Milliseconds(200);
  FakeWorker& worker = AddWorker();
  StartAll();
  RawClient lazy(http());
  lazy.Post(kChat, Streaming());
  const v1::Submit submit = worker.AwaitSubmit();
  // Less than a socket's send buffer would grow to by itself.
  const std::vector<int32_t> lot(4000, kComma);
  for (int i = 0; i < 250; ++i) worker.Emit(submit, lot);
  EXPECT_EQ(worker.AwaitCancel().sequence(), submit.sequence());
  AwaitAllEnded();
}

TEST_F(SlowClient, OverGrpcIsCancelledWhenItTakesNothingForTooLong) {
  tuning_.client_buffer_max = 64 * kMiB;
  tuning_.connection.write_stall = absl::Milliseconds(200);
  FakeWorker& worker = AddWorker();
  StartAll();
  auto stub = v1::Inference::NewStub(
      grpc::CreateChannel(grpc_target(), grpc::InsecureChannelCredentials()));
  grpc::ClientContext context;
  v1::GenerateRequest request;
  request.set_model("tiny");
  request.set_text("hi");
  auto reader = stub->Generate(&context, request);
  const v1::Submit submit = worker.AwaitSubmit();
  const std::vector<int32_t> lot(4000, kComma);
  for (int i = 0; i < 100; ++i) worker.Emit(submit, lot);
  const absl::Time give_up = absl::Now() + kPatience;
  while (!worker.HasWaitingCancel() && absl::Now() < give_up) {
    worker.Emit(submit, {kComma});
    std::this_thread::yield();
  }
  EXPECT_EQ(worker.AwaitCancel().sequence(), submit.sequence());
  AwaitAllEnded();
  context.TryCancel();
  v1::GenerateResponse response;
  while (reader->Read(&response)) {
  }
  EXPECT_FALSE(reader->Finish().ok());
}

TEST_F(SlowClient, LosesTheConnectionItHasLeftUnusedLongestWhenAllAreTaken) {
  tuning_.connections_max = 4;
  FakeWorker& worker = AddWorker();
  StartAll();
  RawClient busy(http());
  busy.Post(kChat, Chat());
  const v1::Submit submit = worker.AwaitSubmit();
  RawClient used(http()), silent(http()), fragment(http());
  for (RawClient* client : {&used, &silent, &fragment}) {  // so that all three are accepted
    client->Get("/health");
    EXPECT_EQ(client->Read().status, 200);
  }
  fragment.Send("GET /hea");
  silent.Send("\r\n");
  used.Get("/health");  // of the three it has now waited least
  EXPECT_EQ(used.Read().status, 200);
  RawClient first(http()), second(http());
  first.Get("/health");
  EXPECT_EQ(first.Read().status, 200);
  second.Get("/health");
  EXPECT_EQ(second.Read().status, 200);
  EXPECT_TRUE(silent.AtEnd());
  EXPECT_TRUE(fragment.AtEnd());
  used.Get("/health");
  EXPECT_EQ(used.Read().status, 200);
  // What is being answered never gives way.
  worker.Emit(submit, {'a', kEos}, v1::FINISH_STOP);
  EXPECT_EQ(busy.Read().status, 200);
}

// Takes every request and keeps the last exchange.
class Keeper final : public HttpHandler {
 public:
  std::optional<HttpResponse> OnHeaders(const HttpRequest&) override { return std::nullopt; }
  void OnRequest(HttpRequest, std::shared_ptr<HttpExchange> exchange) override {
    exchange_ = exchange;
    exchange->StartStream({}, "");
    exchange->Write(std::string(8 * kMiB, 'x'));
    exchange->OnDisconnect([this] {
      unsent_ = exchange_.load()->buffered();
      left_ = true;
    });
  }
  HttpResponse OnProtocolError(int status, const std::string&) override { return {status, {}, ""}; }

  std::atomic<std::shared_ptr<HttpExchange>> exchange_;
  std::atomic<size_t> unsent_{0};
  std::atomic<bool> left_{false};
};

TEST(SendBuffer, HoldsLittleOfWhatAClientDoesNotRead) {
  Keeper keeper;
  HttpServerOptions options;
  options.host = "127.0.0.1";
  options.connection.output_bytes_max = 16 * kMiB;
  options.connection.write_stall = absl::Milliseconds(300);
  auto server = StartHttpServer(options, &keeper);
  ASSERT_TRUE(server.ok()) << server.status();
  RawClient lazy((*server)->port());
  lazy.Get("/");
  const absl::Time give_up = absl::Now() + kPatience;
  while (!keeper.left_ && absl::Now() < give_up) std::this_thread::yield();
  ASSERT_TRUE(keeper.left_);
  // What both systems' buffers took: the client's starts with 128 KiB.
  EXPECT_GT(keeper.unsent_, 8 * kMiB - 700 * 1024);
}

}  // namespace
}  // namespace shoal::router
