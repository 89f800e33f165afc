// SPDX-License-Identifier: Apache-2.0
// What the HTTP server does with proper and improper HTTP.
#include <gtest/gtest.h>

#include "absl/strings/str_cat.h"
#include "router/router_fixture.h"

namespace shoal::router {
namespace {

class HttpProtocol : public RouterFixture {
 protected:
  void SetUp() override {
    RouterFixture::SetUp();
    options_.router.max_body_bytes = 4096;
    AddWorker().Script({'o', 'k', kEos});
    StartAll();
  }
};

TEST_F(HttpProtocol, RefusesMalformedRequestsAndLivesOn) {
  struct Case {
    const char* what;
    std::string bytes;
    int status;
  };
  const std::string post = "POST /v1/completions HTTP/1.1\r\nHost: t\r\n";
  const std::string body = Completion("x").dump();
  const Case cases[] = {
      {"no HTTP", "hello\r\n\r\n", 400},
      {"TLS", std::string("\x16\x03\x01\x02\x00\x01\x00\n", 8), 400},
      {"HTTP/2 preface", "PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n", 400},
      {"bare line feeds", "GET /health HTTP/1.1\nHost: t\n\n", 400},
      {"folded header", "GET /health HTTP/1.1\r\nA: b\r\n c\r\n\r\n", 400},
      {"NUL in a header",
       absl::StrCat("GET /health HTTP/1.1\r\nA: ", std::string(1, '\0'), "\r\n\r\n"), 400},
      {"space in a header name", "GET /health HTTP/1.1\r\nA : b\r\n\r\n", 400},
      {"two lengths", post + "Content-Length: 3\r\nContent-Length: 4\r\n\r\nabc", 400},
      {"length and chunks",
       post + "Content-Length: 3\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\n", 400},
      {"unknown encoding", post + "Transfer-Encoding: xchunked\r\n\r\n0\r\n\r\n", 400},
      {"tab after chunked", post + "Transfer-Encoding: chunked\t, gzip\r\n\r\n0\r\n\r\n", 400},
      {"negative chunk", post + "Transfer-Encoding: chunked\r\n\r\n-2\r\nab\r\n", 400},
      {"hex prefix chunk", post + "Transfer-Encoding: chunked\r\n\r\n0x10\r\nab\r\n", 400},
      {"huge chunk", post + "Transfer-Encoding: chunked\r\n\r\nFFFFFFFFFFFFFFFFF\r\nab\r\n", 400},
      {"negative length", post + "Content-Length: -1\r\n\r\n", 400},
      {"long length", post + "Content-Length: 99999999999\r\n\r\nx", 413},
      {"long head", "GET /health HTTP/1.1\r\nA: " + std::string(40'000, 'a') + "\r\n\r\n", 431},
      {"endless head", "GET /health HTTP/1.1\r\nA: " + std::string(64'000, 'a'), 431},
      {"long target", "GET /" + std::string(9'000, 'a') + " HTTP/1.1\r\n\r\n", 414},
      {"bad escape", "GET /v1/models/%zz HTTP/1.1\r\n\r\n", 400},
      {"NUL in the path", "GET /v1/models/a%00b HTTP/1.1\r\n\r\n", 400},
      {"CONNECT", "CONNECT a:1 HTTP/1.1\r\n\r\n", 400},
      {"expectation", post + "Expect: 200-ok\r\nContent-Length: 1\r\n\r\nx", 417},
      {"compressed", post + "Content-Encoding: gzip\r\nContent-Length: 1\r\n\r\nx", 415},
      {"wrong method", "DELETE /health HTTP/1.1\r\n\r\n", 405},
      {"GET for POST", "GET /v1/completions HTTP/1.1\r\n\r\n", 405},
      {"unknown path", "GET /nothing HTTP/1.1\r\n\r\n", 404},
      {"path out of models", "GET /v1/models/..%2f..%2fetc HTTP/1.1\r\n\r\n", 404},
  };
  for (const Case& c : cases) {
    RawClient client(http());
    client.Send(c.bytes);
    const RawResponse response = client.Read();
    EXPECT_EQ(response.status, c.status) << c.what << ": " << response.body;
    EXPECT_TRUE(response.json().contains("error")) << c.what << ": " << response.body;
    EXPECT_EQ(response.headers.count("x-request-id"), 1u) << c.what;
  }
  const RawResponse after = FetchText(http(), "/v1/completions", body);
  EXPECT_EQ(after.status, 200) << after.body;
}

TEST_F(HttpProtocol, RefusesTooManyHeaders) {
  std::string head = "GET /health HTTP/1.1\r\n";
  for (int i = 0; i < 200; ++i) absl::StrAppend(&head, "h", i, ": 1\r\n");
  RawClient client(http());
  client.Send(head + "\r\n");
  EXPECT_EQ(client.Read().status, 431);
}

TEST_F(HttpProtocol, RefusesALongBodyBeforeReadingIt) {
  RawClient client(http());
  client.Send("POST /v1/completions HTTP/1.1\r\nContent-Length: 5000\r\n\r\n");
  const RawResponse response = client.Read();  // nothing of the body was sent
  EXPECT_EQ(response.status, 413);
  EXPECT_EQ(response.headers.at("connection"), "close");
  EXPECT_TRUE(client.AtEnd());
}

TEST_F(HttpProtocol, RefusesChunksThatAddUpToTooMuch) {
  RawClient client(http());
  client.Send("POST /v1/completions HTTP/1.1\r\nTransfer-Encoding: chunked\r\n\r\n");
  for (int i = 0; i < 5; ++i) client.Send("400\r\n" + std::string(1024, 'x') + "\r\n");
  EXPECT_EQ(client.Read().status, 413);
}

TEST_F(HttpProtocol, TakesABodyInOneByteChunks) {
  std::string bytes = "POST /v1/completions HTTP/1.1\r\nTransfer-Encoding: chunked\r\n\r\n";
  for (const char c : Completion("x").dump())
    absl::StrAppend(&bytes, "1\r\n", std::string(1, c), "\r\n");
  RawClient client(http());
  client.Send(bytes + "0\r\n\r\n");
  const RawResponse response = client.Read();
  EXPECT_EQ(response.status, 200) << response.body;
}

TEST_F(HttpProtocol, AsksForTheBodyAfterExpectContinue) {
  const std::string body = Completion("x").dump();
  RawClient client(http());
  client.Send(absl::StrCat("POST /v1/completions HTTP/1.1\r\nExpect: 100-continue\r\n",
                           "Content-Length: ", body.size(), "\r\n\r\n"));
  EXPECT_EQ(client.Read().status, 100);
  client.Send(body);
  EXPECT_EQ(client.Read().status, 200);
}

TEST_F(HttpProtocol, AnswersPipelinedRequestsInOrder) {
  RawClient client(http());
  std::string bytes;
  for (int i = 0; i < 3; ++i) {
    const std::string body = Completion("x").dump();
    absl::StrAppend(&bytes, "POST /v1/completions HTTP/1.1\r\nX-Request-Id: r", i,
                    "\r\nContent-Length: ", body.size(), "\r\n\r\n", body);
    absl::StrAppend(&bytes, "GET /version HTTP/1.1\r\nX-Request-Id: v", i, "\r\n\r\n");
  }
  client.Send(bytes);
  for (int i = 0; i < 3; ++i) {
    EXPECT_EQ(client.Read().headers["x-request-id"], absl::StrCat("r", i));
    EXPECT_EQ(client.Read().headers["x-request-id"], absl::StrCat("v", i));
  }
}

TEST_F(HttpProtocol, KeepsTheConnectionUnlessToldOtherwise) {
  RawClient client(http());
  client.Get("/health");
  EXPECT_EQ(client.Read().status, 200);
  client.Get("/health", "Connection: close\r\n");
  const RawResponse last = client.Read();
  EXPECT_EQ(last.headers.at("connection"), "close");
  EXPECT_TRUE(client.AtEnd());
}

TEST_F(HttpProtocol, StreamsWithoutChunksToHttp10) {
  nlohmann::json body = Completion("x");
  body["stream"] = true;
  const std::string text = body.dump();
  RawClient client(http());
  client.Send(absl::StrCat("POST /v1/completions HTTP/1.0\r\nContent-Length: ", text.size(),
                           "\r\n\r\n", text));
  const RawResponse response = client.Read();
  EXPECT_EQ(response.headers.count("transfer-encoding"), 0u);
  EXPECT_EQ(SsePayloads(response.body).back(), "[DONE]");
}

TEST_F(HttpProtocol, AnswersHeadWithoutABody) {
  RawClient client(http());
  client.Send("HEAD /health HTTP/1.1\r\n\r\nGET /version HTTP/1.1\r\n\r\n");
  EXPECT_EQ(client.Read(/*head=*/true).status, 200);
  EXPECT_EQ(client.Read().json()["version"], "1.2.3");
}

TEST_F(HttpProtocol, EchoesAPlainRequestIdAndReplacesAnyOther) {
  EXPECT_EQ(FetchGet(http(), "/health", "X-Request-Id: my-id.1\r\n").headers["x-request-id"],
            "my-id.1");
  const RawResponse odd = FetchGet(http(), "/health", "X-Request-Id: a%0d%0ab: 1\r\n");
  EXPECT_EQ(odd.headers.at("x-request-id").rfind("req-", 0), 0u);
}

TEST_F(HttpProtocol, SurvivesConnectionsThatSayNothing) {
  std::vector<std::unique_ptr<RawClient>> idle;
  for (int i = 0; i < 100; ++i) idle.push_back(std::make_unique<RawClient>(http()));
  for (auto& client : idle) client->Send("GET /hea");
  EXPECT_EQ(FetchGet(http(), "/health").status, 200);
}

}  // namespace
}  // namespace shoal::router
