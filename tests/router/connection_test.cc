// SPDX-License-Identifier: Apache-2.0
// How long a connection waits for its client. Time is an argument: nothing sleeps.
#include "router/frontend/http_server/connection.h"

#include <fcntl.h>
#include <gtest/gtest.h>
#include <sys/socket.h>
#include <unistd.h>

#include <memory>
#include <optional>
#include <string>

#include "absl/strings/match.h"
#include "absl/strings/string_view.h"

namespace shoal::router {
namespace {

// Answers nothing by itself; keeps the last exchange.
class FakeHandler final : public HttpHandler {
 public:
  std::optional<HttpResponse> OnHeaders(const HttpRequest&) override { return std::nullopt; }
  void OnRequest(HttpRequest, std::shared_ptr<HttpExchange> exchange) override {
    exchange_ = std::move(exchange);
  }
  HttpResponse OnProtocolError(int status, const std::string& message) override {
    HttpResponse response;
    response.status = status;
    response.body = message;
    return response;
  }

  std::shared_ptr<HttpExchange> exchange_;
};

class ConnectionTime : public ::testing::Test {
 protected:
  void SetUp() override {
    int pair[2];
    ASSERT_EQ(socketpair(AF_UNIX, SOCK_STREAM | SOCK_NONBLOCK, 0, pair), 0);
    client_ = pair[0];
    outbox_ = std::make_shared<Outbox>(open("/dev/null", O_WRONLY | O_CLOEXEC));
    connection_ =
        std::make_unique<Connection>(pair[1], 1, limits_, &handler_, outbox_, &budget_, start_);
  }
  void TearDown() override {
    connection_.reset();
    close(client_);
  }

  absl::Time At(int seconds) const { return start_ + absl::Seconds(seconds); }
  // The client sends that, and the connection reads it.
  bool Send(absl::string_view bytes, int seconds) {
    EXPECT_EQ(write(client_, bytes.data(), bytes.size()), static_cast<ssize_t>(bytes.size()));
    return connection_->OnReadable(At(seconds));
  }
  std::string Received() {
    char buffer[4096];
    const ssize_t count = read(client_, buffer, sizeof(buffer));
    return std::string(buffer, count > 0 ? static_cast<size_t>(count) : 0);
  }

  const absl::Time start_ = absl::FromUnixSeconds(1'000'000);
  ConnectionLimits limits_;
  BodyBudget budget_;
  FakeHandler handler_;
  std::shared_ptr<Outbox> outbox_;
  std::unique_ptr<Connection> connection_;
  int client_ = -1;
};

TEST_F(ConnectionTime, RefusesAHeadThatArrivesOneByteASecond) {
  ASSERT_TRUE(Send("GET /health HTTP/1.1\r\nA: ", 0));
  for (int second = 1; second < 15; ++second) {
    ASSERT_TRUE(Send("a", second));
    ASSERT_TRUE(connection_->OnTick(At(second)));
    ASSERT_EQ(Received(), "") << second;
  }
  ASSERT_TRUE(connection_->OnTick(At(15)));  // the answer is sent, the client may read it
  EXPECT_TRUE(absl::StartsWith(Received(), "HTTP/1.1 408 "));
}

TEST_F(ConnectionTime, RefusesABodyThatDripsWithinThePauseLimit) {
  ASSERT_TRUE(Send("POST /v1/completions HTTP/1.1\r\nContent-Length: 100\r\n\r\n", 0));
  for (int second = 50; second < 120; second += 50) {
    ASSERT_TRUE(Send("a", second));
    ASSERT_TRUE(connection_->OnTick(At(second)));
    ASSERT_EQ(Received(), "") << second;
  }
  ASSERT_TRUE(connection_->OnTick(At(119)));
  ASSERT_EQ(Received(), "");
  ASSERT_TRUE(connection_->OnTick(At(120)));
  EXPECT_TRUE(absl::StartsWith(Received(), "HTTP/1.1 408 "));
}

TEST_F(ConnectionTime, RefusesABodyThatPauses) {
  ASSERT_TRUE(Send("POST /v1/completions HTTP/1.1\r\nContent-Length: 100\r\n\r\na", 0));
  ASSERT_TRUE(connection_->OnTick(At(59)));
  ASSERT_EQ(Received(), "");
  ASSERT_TRUE(connection_->OnTick(At(60)));
  EXPECT_TRUE(absl::StartsWith(Received(), "HTTP/1.1 408 "));
}

TEST_F(ConnectionTime, WaitsFromTheEndOfAnAnswerOnAndNotDuringARequest) {
  EXPECT_EQ(connection_->waiting_since(), At(0));
  ASSERT_TRUE(Send("GET /health HTTP/1.1\r\n", 5));
  EXPECT_EQ(connection_->waiting_since(), At(0)) << "nobody is owed an answer yet";
  ASSERT_TRUE(Send("\r\n", 6));
  EXPECT_EQ(connection_->waiting_since(), absl::InfiniteFuture());
  handler_.exchange_->Respond(HttpResponse{});
  for (OutboxCommand& command : outbox_->Take()) {
    ASSERT_TRUE(connection_->OnCommand(std::move(command), At(9)));
  }
  EXPECT_EQ(connection_->waiting_since(), At(9));
}

TEST_F(ConnectionTime, DoesNotCountEmptyLinesAsProgress) {
  for (int second = 0; second < 75; second += 5) ASSERT_TRUE(Send("\r\n", second));
  EXPECT_FALSE(connection_->OnTick(At(75)) && Received().empty());
}

TEST_F(ConnectionTime, GivesEachRequestOfAConnectionItsOwnTime) {
  for (int second = 0; second < 60; second += 20) {
    ASSERT_TRUE(Send("GET /health HTTP/1.1\r\n", second));
    ASSERT_TRUE(Send("\r\n", second + 14));
    ASSERT_NE(handler_.exchange_, nullptr);
    HttpResponse response;
    response.status = 200;
    handler_.exchange_->Respond(std::move(response));
    for (OutboxCommand& command : outbox_->Take()) {
      ASSERT_TRUE(connection_->OnCommand(std::move(command), At(second + 14)));
    }
    handler_.exchange_.reset();
    ASSERT_TRUE(connection_->OnTick(At(second + 19)));
    EXPECT_TRUE(absl::StartsWith(Received(), "HTTP/1.1 200 ")) << second;
  }
}

}  // namespace
}  // namespace shoal::router
