// SPDX-License-Identifier: Apache-2.0
// What the OpenAI endpoints answer, whole and streamed.
#include <gtest/gtest.h>
#include <stdlib.h>
#include <unistd.h>

#include <fstream>

#include "absl/strings/str_cat.h"
#include "router/router_fixture.h"

namespace shoal::router {
namespace {

using nlohmann::json;

constexpr char kChat[] = "/v1/chat/completions";
constexpr char kCompletions[] = "/v1/completions";

class OpenAiApi : public RouterFixture {
 protected:
  std::vector<json> Events(const RawResponse& response) {
    std::vector<json> events;
    for (const std::string& payload : SsePayloads(response.body)) {
      if (payload != "[DONE]") events.push_back(json::parse(payload));
    }
    return events;
  }
};

TEST_F(OpenAiApi, AnswersAChatWhole) {
  AddWorker().Script({kHello, '!', kEos});
  StartAll();
  const RawResponse response = Fetch(http(), kChat, Chat());
  ASSERT_EQ(response.status, 200) << response.body;
  const json body = response.json();
  EXPECT_EQ(std::string(body["id"]).rfind("chatcmpl-", 0), 0u);
  EXPECT_EQ(body["object"], "chat.completion");
  EXPECT_EQ(body["model"], "tiny");
  EXPECT_EQ(body["system_fingerprint"], "fp-a");
  EXPECT_TRUE(body["created"].is_number_integer());
  ASSERT_EQ(body["choices"].size(), 1u);
  const json& choice = body["choices"][0];
  EXPECT_EQ(choice["message"]["role"], "assistant");
  EXPECT_EQ(choice["message"]["content"], "Hello!");
  EXPECT_EQ(choice["finish_reason"], "stop");
  EXPECT_TRUE(choice["logprobs"].is_null());
  EXPECT_EQ(body["usage"]["prompt_tokens"], 8);
  EXPECT_EQ(body["usage"]["completion_tokens"], 3);
  EXPECT_EQ(body["usage"]["total_tokens"], 11);
  EXPECT_EQ(body["usage"]["prompt_tokens_details"]["cached_tokens"], 0);
}

TEST_F(OpenAiApi, StreamsAChatAsClientsExpect) {
  AddWorker().Script({kHello, '!', kEos});
  StartAll();
  json body = Chat();
  body["stream"] = true;
  body["stream_options"] = {{"include_usage", true}};
  const RawResponse response = Fetch(http(), kChat, body);
  ASSERT_EQ(response.status, 200);
  EXPECT_EQ(response.headers.at("content-type").rfind("text/event-stream", 0), 0u);
  const std::vector<json> events = Events(response);
  ASSERT_EQ(events.size(), 5u) << response.body;
  EXPECT_EQ(SsePayloads(response.body).back(), "[DONE]");
  for (const json& event : events) {
    EXPECT_EQ(event["object"], "chat.completion.chunk");
    EXPECT_EQ(event["id"], events[0]["id"]);
    EXPECT_EQ(event["created"], events[0]["created"]);
  }
  EXPECT_EQ(events[0]["choices"][0]["delta"], (json{{"role", "assistant"}, {"content", ""}}));
  EXPECT_EQ(events[1]["choices"][0]["delta"], (json{{"content", "Hello"}}));
  EXPECT_TRUE(events[1]["choices"][0]["finish_reason"].is_null());
  EXPECT_TRUE(events[1].contains("usage") && events[1]["usage"].is_null());
  EXPECT_EQ(events[2]["choices"][0]["delta"], (json{{"content", "!"}}));
  EXPECT_EQ(events[3]["choices"][0]["delta"], json::object());
  EXPECT_EQ(events[3]["choices"][0]["finish_reason"], "stop");
  EXPECT_EQ(events[4]["choices"], json::array());
  EXPECT_EQ(events[4]["usage"]["completion_tokens"], 3);
}

TEST_F(OpenAiApi, SendsNoUsageUnasked) {
  AddWorker().Script({'a', kEos});
  StartAll();
  json body = Chat();
  body["stream"] = true;
  EXPECT_EQ(Fetch(http(), kChat, body).body.find("usage"), std::string::npos);
}

TEST_F(OpenAiApi, GivesEqualTextAndUsageStreamedAndWhole) {
  AddWorker().Script(Bytes("alpha ž漢🙂 beta gamma delta"), v1::FINISH_LENGTH);
  StartAll();
  for (const char* path : {kChat, kCompletions}) {
    json body = std::string(path) == kChat ? Chat() : Completion("hi");
    body["stop"] = {"gamma del"};
    const json whole = Fetch(http(), path, body).json();
    body["stream"] = true;
    body["stream_options"] = {{"include_usage", true}};
    std::string text, finish;
    json usage;
    for (const json& event : Events(Fetch(http(), path, body))) {
      if (!event["usage"].is_null()) usage = event["usage"];
      if (event["choices"].empty()) continue;
      const json& choice = event["choices"][0];
      const std::string piece =
          choice.contains("text") ? choice.value("text", "") : choice["delta"].value("content", "");
      EXPECT_EQ(piece.find("\xEF\xBF\xBD"), std::string::npos);
      text += piece;
      if (!choice["finish_reason"].is_null()) finish = choice["finish_reason"];
    }
    const json& choice = whole["choices"][0];
    EXPECT_EQ(text, choice.contains("text") ? choice["text"] : choice["message"]["content"]);
    EXPECT_EQ(text, "alpha ž漢🙂 beta ");
    EXPECT_EQ(finish, "stop");
    EXPECT_EQ(choice["finish_reason"], "stop");
    EXPECT_EQ(usage, whole["usage"]);
  }
}

TEST_F(OpenAiApi, OpensChoicesInOrderAndKeepsThemApart) {
  FakeWorker& worker = AddWorker();
  StartAll();
  json body = Chat();
  body["n"] = 3;
  body["stream"] = true;
  body["stream_options"] = {{"include_usage", true}};
  RawClient client(http());
  client.Post(kChat, body);
  std::vector<v1::Submit> submits(3);
  for (int i = 0; i < 3; ++i) {
    const v1::Submit submit = worker.AwaitSubmit();
    submits[submit.sampling().choice()] = submit;
    EXPECT_NE(submit.group_key(), 0u);
    EXPECT_EQ(submit.group_key(), submits[0].group_key());
    EXPECT_EQ(submit.sampling().seed(), submits[0].sampling().seed());
  }
  for (const int i : {2, 0, 1}) worker.Emit(submits[static_cast<size_t>(i)], {'a' + i});
  for (const int i : {1, 2, 0}) {
    worker.Emit(submits[static_cast<size_t>(i)], {kEos}, v1::FINISH_STOP);
  }
  const std::vector<json> events = Events(client.Read());
  ASSERT_EQ(events.size(), 10u);
  std::vector<std::string> texts(3);
  for (size_t i = 0; i < 9; ++i) {
    const json& choice = events[i]["choices"][0];
    if (i < 3) {
      EXPECT_EQ(choice["index"], i);
      EXPECT_EQ(choice["delta"]["role"], "assistant");
    }
    texts[choice["index"].get<size_t>()] += choice["delta"].value("content", "");
  }
  EXPECT_EQ(texts, (std::vector<std::string>{"a", "b", "c"}));
  EXPECT_EQ(events[9]["usage"]["prompt_tokens"], 8);  // once
  EXPECT_EQ(events[9]["usage"]["completion_tokens"], 6);
}

TEST_F(OpenAiApi, GivesChatLogprobsOfWhatIsShown) {
  AddWorker().Script({kHello, '!', kEos});
  StartAll();
  json body = Chat();
  body["logprobs"] = true;
  body["top_logprobs"] = 2;
  const json whole = Fetch(http(), kChat, body).json()["choices"][0]["logprobs"];
  ASSERT_EQ(whole["content"].size(), 2u);  // not the end token
  EXPECT_EQ(whole["content"][0]["token"], "Hello");
  EXPECT_EQ(whole["content"][0]["bytes"], json({72, 101, 108, 108, 111}));
  EXPECT_FLOAT_EQ(whole["content"][0]["logprob"], -0.5);
  EXPECT_EQ(whole["content"][0]["top_logprobs"].size(), 2u);
  body["top_logprobs"] = nullptr;
  const json plain = Fetch(http(), kChat, body).json()["choices"][0]["logprobs"];
  EXPECT_EQ(plain["content"][1]["top_logprobs"], json::array());
  body["stream"] = true;
  json joined = json::array();
  for (const json& event : Events(Fetch(http(), kChat, body))) {
    const json& logprobs = event["choices"][0]["logprobs"];
    if (logprobs.is_null()) continue;
    for (const json& entry : logprobs["content"]) joined.push_back(entry);
  }
  EXPECT_EQ(joined, plain["content"]);
}

TEST_F(OpenAiApi, EchoesThePromptWithItsLogprobs) {
  FakeWorker& worker = AddWorker();
  StartAll();
  json body = Completion("aé");
  body.update({{"echo", true}, {"logprobs", 1}, {"max_tokens", 0}});
  RawClient client(http());
  client.Post(kCompletions, body);
  const v1::Submit submit = worker.AwaitSubmit();
  EXPECT_EQ(submit.sampling().prompt_logprobs(), 1);
  EXPECT_EQ(submit.max_tokens(), 0);
  v1::WorkerMessage message;
  v1::SequenceDelta* delta = message.mutable_deltas()->add_sequences();
  delta->set_sequence(submit.sequence());
  delta->set_attempt(1);
  for (int i = 1; i < submit.tokens_size(); ++i) {
    v1::TokenOutput* output = delta->add_prompt();
    output->set_token(submit.tokens(i));
    output->set_logprob(-static_cast<float>(i));
    output->add_top()->set_token('z');
  }
  delta->set_finish(v1::FINISH_LENGTH);
  worker.Send(message);
  const json answer = client.Read().json();
  const json& choice = answer["choices"][0];
  EXPECT_EQ(choice["text"], "aé");
  EXPECT_EQ(choice["finish_reason"], "length");
  EXPECT_EQ(choice["logprobs"]["tokens"], json({"a", "bytes:\\xc3", "bytes:\\xa9"}));
  EXPECT_EQ(choice["logprobs"]["token_logprobs"], json({nullptr, -1.0, -2.0}));
  EXPECT_EQ(choice["logprobs"]["text_offset"], json({0, 1, 2}));
  EXPECT_TRUE(choice["logprobs"]["top_logprobs"][0].is_null());
  EXPECT_EQ(choice["logprobs"]["top_logprobs"][1].size(), 2u);
  EXPECT_EQ(answer["usage"]["completion_tokens"], 0);
}

TEST_F(OpenAiApi, TakesManyPromptsAndTokenIds) {
  AddWorker().Script({'a', kEos});
  StartAll();
  json body = Completion("");
  for (const json& prompt : {json({"x", "yy"}), json({{120}, {121, 121}})}) {
    body["prompt"] = prompt;
    body["n"] = 2;
    const json answer = Fetch(http(), kCompletions, body).json();
    ASSERT_EQ(answer["choices"].size(), 4u) << answer;
    for (size_t i = 0; i < 4; ++i) EXPECT_EQ(answer["choices"][i]["index"], i);
    EXPECT_EQ(answer["usage"]["prompt_tokens"], 3);
    EXPECT_EQ(answer["usage"]["completion_tokens"], 8);
    for (size_t i = 0; i < 4; ++i) {
      const v1::Submit submit = workers_[0]->AwaitSubmit();
      EXPECT_EQ(submit.tokens_size(), i < 2 ? 1 : 2);
      EXPECT_EQ(submit.sampling().choice(), i % 2);
    }
  }
  body["prompt"] = {104, 105};
  EXPECT_EQ(Fetch(http(), kCompletions, body).json()["usage"]["prompt_tokens"], 2);
}

TEST_F(OpenAiApi, ShowsModelsVersionHealthAndMetrics) {
  AddWorker().Script({'a', kEos});
  StartAll();
  EXPECT_EQ(Fetch(http(), kChat, Chat()).status, 200);
  const json models = FetchGet(http(), "/v1/models").json();
  EXPECT_EQ(models["object"], "list");
  EXPECT_EQ(models["data"][0]["id"], "tiny");
  EXPECT_EQ(models["data"][0]["object"], "model");
  EXPECT_EQ(models["data"][0]["max_model_len"], 4096);
  EXPECT_EQ(FetchGet(http(), "/v1/models/tiny").json()["id"], "tiny");
  EXPECT_EQ(FetchGet(http(), "/v1/models/t%69ny").json()["id"], "tiny");
  EXPECT_EQ(FetchGet(http(), "/v1/models/none").status, 404);
  EXPECT_EQ(FetchGet(http(), "/health").status, 200);
  EXPECT_EQ(FetchGet(http(), "/ready").status, 200);
  EXPECT_EQ(FetchGet(http(), "/version").json()["version"], "1.2.3");
  AwaitAllEnded();
  EXPECT_EQ(Metric("vllm:prompt_tokens_total"), 8);
  EXPECT_EQ(Metric("vllm:generation_tokens_total"), 2);
  EXPECT_EQ(Metric("vllm:time_to_first_token_seconds_count"), 1);
}

TEST_F(OpenAiApi, AsksForKeysAndComparesThem) {
  char path[] = "/tmp/shoal_keys_XXXXXX";
  const int fd = mkstemp(path);
  ASSERT_GE(fd, 0);
  close(fd);
  std::ofstream(path) << "# keys\n\n  secret-1 \nsecret-2\n";
  options_.router.api_keys_file = path;
  AddWorker().Script({'a', kEos});
  StartAll();
  for (const char* bad : {"", "Authorization: secret-1\r\n", "Authorization: Bearer \r\n",
                          "Authorization: Bearer secret\r\n", "Authorization: Basic secret-1\r\n",
                          "Authorization: Bearer secret-11\r\n"}) {
    const RawResponse response = FetchGet(http(), "/v1/models", bad);
    EXPECT_EQ(response.status, 401) << bad;
    EXPECT_EQ(response.json()["error"]["code"], "invalid_api_key");
  }
  for (const char* good :
       {"Authorization: Bearer secret-1\r\n", "authorization: bearer  secret-2\r\n"}) {
    EXPECT_EQ(FetchGet(http(), "/v1/models", good).status, 200) << good;
  }
  EXPECT_EQ(FetchGet(http(), "/health").status, 200);
  router_.reset();
  std::ofstream(path, std::ios::trunc) << "# none\n";
  options_.replicas.clear();
  EXPECT_FALSE(StartRouterWithModels(options_, {}, tuning_).ok());
  unlink(path);
}

TEST_F(OpenAiApi, LetsConfiguredOriginsIn) {
  options_.router.cors_origins = {"http://app"};
  AddWorker();
  StartAll();
  RawClient client(http());
  client.Send("OPTIONS /v1/chat/completions HTTP/1.1\r\nOrigin: http://app\r\n\r\n");
  const RawResponse preflight = client.Read();
  EXPECT_EQ(preflight.status, 204);
  EXPECT_EQ(preflight.headers.at("access-control-allow-origin"), "http://app");
  EXPECT_EQ(preflight.headers.count("content-length"), 0u);
  client.Get("/health");  // the connection goes on right after it
  EXPECT_EQ(client.Read().body, "ok\n");
  const RawResponse other = FetchGet(http(), "/v1/models", "Origin: http://evil\r\n");
  EXPECT_EQ(other.headers.count("access-control-allow-origin"), 0u);
}

}  // namespace
}  // namespace shoal::router
