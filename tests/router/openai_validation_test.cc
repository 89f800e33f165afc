// SPDX-License-Identifier: Apache-2.0
// Which request bodies are refused, and with which parameter; which are not.
#include <gtest/gtest.h>

#include "absl/strings/str_cat.h"
#include "router/router_fixture.h"

namespace shoal::router {
namespace {

using nlohmann::json;

constexpr char kChat[] = "/v1/chat/completions";
constexpr char kCompletions[] = "/v1/completions";

class OpenAiValidation : public RouterFixture {
 protected:
  void SetUp() override {
    RouterFixture::SetUp();
    AddWorker().Script({'o', 'k', kEos});
    StartAll();
  }
  RawResponse ChatWith(const char* field, const json& value) {
    json body = Chat();
    body[field] = value;
    return Fetch(http(), kChat, body);
  }
  RawResponse CompletionWith(const char* field, const json& value) {
    json body = Completion("hi");
    body[field] = value;
    return Fetch(http(), kCompletions, body);
  }
};

TEST_F(OpenAiValidation, RefusesBodiesThatAreNoRequest) {
  for (const char* body :
       {"", "null", "[]", "7", "\"x\"", "{:\"model\":1}", "{\"model\":\"tiny\"", "{} {}",
        "{\"model\":\"tiny\",\"prompt\":\"\xff\"}", "{\"model\":\"tiny\",\"prompt\":\"\\ud800\"}",
        "{\"model\":\"tiny\",\"prompt\":\"x\",\"top_p\":NaN}",
        "{\"model\":\"tiny\",\"prompt\":\"x\",\"top_p\":1e999}",
        "{\"model\":\"tiny\",\"prompt\":\"x\",\"max_tokens\":1,\"max_tokens\":2}",
        "{\"model\":\"tiny\",\"prompt\":\"x\",\"user\":{\"a\":1,\"a\":2}}"}) {
    for (const char* path : {kChat, kCompletions}) {
      const RawResponse response = FetchText(http(), path, body);
      EXPECT_EQ(response.status, 400) << body;
      EXPECT_EQ(response.json()["error"]["type"], "invalid_request_error") << body;
    }
  }
}

TEST_F(OpenAiValidation, RefusesDeepNestingEvenInIgnoredFields) {
  for (const int depth : {100, 3000, 100'000}) {
    const std::string nested =
        std::string(static_cast<size_t>(depth), '[') + std::string(static_cast<size_t>(depth), ']');
    const RawResponse response =
        FetchText(http(), kCompletions,
                  absl::StrCat("{\"model\":\"tiny\",\"prompt\":\"x\",\"metadata\":", nested, "}"));
    EXPECT_EQ(response.status, 400);
    EXPECT_NE(response.body.find("nested deeper"), std::string::npos) << response.body;
  }
}

struct Refusal {
  const char* field;
  json value;
  const char* param = nullptr;  // null: the field itself
};

TEST_F(OpenAiValidation, RefusesImpossibleValuesWithTheirParameter) {
  const json kMany = json(std::vector<std::string>(17, "s"));
  const std::vector<Refusal> both = {{"temperature", -0.1},
                                     {"temperature", 2.1},
                                     {"temperature", "1"},
                                     {"temperature", true},
                                     {"top_p", 0},
                                     {"top_p", 1.01},
                                     {"top_p", json::array()},
                                     {"min_p", 1},
                                     {"min_p", -0.5},
                                     {"top_k", -2},
                                     {"top_k", 1.5},
                                     {"top_k", "5"},
                                     {"n", 0},
                                     {"n", 129},
                                     {"n", "1"},
                                     {"n", 1.0},
                                     {"seed", "100"},
                                     {"seed", 1.5},
                                     {"seed", 1e20},
                                     {"stop", ""},
                                     {"stop", json::array({""})},
                                     {"stop", json::array({"x", ""})},
                                     {"stop", 5},
                                     {"stop", json::array({nullptr})},
                                     {"stop", json::array({5})},
                                     {"stop", kMany},
                                     {"stop_token_ids", json::array({nullptr})},
                                     {"stop_token_ids", json::array({-1})},
                                     {"stop_token_ids", json::array({kFakeVocab})},
                                     {"stop_token_ids", 5},
                                     {"max_tokens", -1},
                                     {"max_tokens", "16"},
                                     {"max_tokens", 1.5},
                                     {"max_tokens", int64_t{1} << 40},
                                     {"max_tokens", 2147483647},
                                     {"max_tokens", 9.3e18},
                                     {"stream", "yes"},
                                     {"stream", 1},
                                     {"stream_options", {{"include_usage", true}}},
                                     {"model", nullptr},
                                     {"model", json::array({"a"})},
                                     {"model", 7},
                                     {"priority", "high"}};
  for (const Refusal& c : both) {
    for (const RawResponse& response :
         {ChatWith(c.field, c.value), CompletionWith(c.field, c.value)}) {
      EXPECT_EQ(response.status, 400) << c.field << " " << c.value << ": " << response.body;
      EXPECT_EQ(response.json()["error"]["param"], c.field) << c.value << response.body;
    }
  }
}

TEST_F(OpenAiValidation, RefusesWhatWouldChangeTheAnswerAndIsNotBuilt) {
  const std::vector<Refusal> both = {{"best_of", 3},
                                     {"guided_json", {{"a", 1}}},
                                     {"response_format", {{"type", "json_object"}}},
                                     {"response_format", {{"type", "json_schema"}}},
                                     {"suffix", "end"},
                                     {"prompt_logprobs", 0},
                                     {"truncate_prompt_tokens", 16},
                                     {"chat_template", "{{ messages }}"},
                                     {"documents", json::array({{{"text", "x"}}})},
                                     {"repeat_penalty", 1.1},
                                     {"n_predict", 5},
                                     {"enable_thinking", false},
                                     {"mirostat", 2},
                                     {"samplers", json::array({"top_k"})},
                                     {"regex", "a+"},
                                     {"function_call", {{"name", "f"}}},
                                     {"modalities", {"text", "audio"}},
                                     {"return_token_ids", true},
                                     {"spaces_between_special_tokens", false}};
  for (const Refusal& c : both) {
    for (const RawResponse& response :
         {ChatWith(c.field, c.value), CompletionWith(c.field, c.value)}) {
      EXPECT_EQ(response.status, 400) << c.field << " " << c.value << ": " << response.body;
      EXPECT_EQ(response.json()["error"]["param"], c.field) << c.value << response.body;
      EXPECT_EQ(response.json()["error"]["code"], "not_available") << c.field;
    }
  }
}

TEST_F(OpenAiValidation, RefusesImpossiblePenaltiesAndBiases) {
  const std::vector<Refusal> both = {{"presence_penalty", 2.1},
                                     {"frequency_penalty", -2.5},
                                     {"frequency_penalty", "0.5"},
                                     {"repetition_penalty", 0},
                                     {"repetition_penalty", -1},
                                     {"repetition_penalty", 11},
                                     {"logit_bias", {{"5", 100.5}}},
                                     {"logit_bias", {{"5", "1"}}},
                                     {"logit_bias", {{"x", 1}}},
                                     {"logit_bias", {{"-1", 1}}},
                                     {"logit_bias", {{std::to_string(kFakeVocab), 1}}},
                                     {"logit_bias", {{"5", 1}, {"05", 1}}},
                                     {"logit_bias", json::array({5})},
                                     {"min_tokens", -1},
                                     {"cache_salt", 5},
                                     {"cache_salt", std::string(257, 'x')}};
  for (const Refusal& c : both) {
    const RawResponse response = CompletionWith(c.field, c.value);
    EXPECT_EQ(response.status, 400) << c.field << " " << c.value << ": " << response.body;
    EXPECT_EQ(response.json()["error"]["param"], c.field) << c.value << response.body;
  }
}

TEST_F(OpenAiValidation, RefusesImpossibleChatValues) {
  const json kUser = {{"role", "user"}, {"content", "x"}};
  const json kImage = {{"type", "image_url"}, {"image_url", {{"url", "http://127.0.0.1:9/"}}}};
  const std::vector<Refusal> cases = {
      {"messages", nullptr},
      {"messages", json::array()},
      {"messages", "hi"},
      {"messages", json::object()},
      {"messages", json::array({5}), "messages[0]"},
      {"messages", json::array({kUser, {{"content", "x"}}}), "messages[1].role"},
      {"messages", {{{"role", 5}, {"content", "x"}}}, "messages[0].role"},
      {"messages", {{{"role", "user"}, {"content", 5}}}, "messages[0].content"},
      {"messages", {{{"role", "user"}, {"content", json::array({kImage})}}}, "messages[0].content"},
      {"messages", {{{"role", "critic"}, {"content", "x"}}}},
      {"max_tokens", 0},
      {"top_logprobs", 5},
      {"top_logprobs", 21},
      {"top_logprobs", 1000000},
      {"top_logprobs", -1},
      {"logprobs", 1},
      {"tools", 7},
      {"tools", json::array({7})},
      {"tools", {{{"type", "function"}}}},
      {"tool_choice", "required"},
      {"tool_choice", {{"type", "function"}}},
      {"continue_final_message", true},
      {"chat_template_kwargs", 5},
      {"chat_template_kwargs", {{"messages", 5}}},
      {"add_generation_prompt", "yes"}};
  for (const Refusal& c : cases) {
    const RawResponse response = ChatWith(c.field, c.value);
    EXPECT_EQ(response.status, 400) << c.field << " " << c.value << ": " << response.body;
    EXPECT_EQ(response.json()["error"]["param"], c.param == nullptr ? c.field : c.param)
        << c.value << response.body;
  }
}

TEST_F(OpenAiValidation, RefusesImpossibleCompletionValues) {
  const std::vector<Refusal> cases = {{"prompt", nullptr},
                                      {"prompt", ""},
                                      {"prompt", json::array()},
                                      {"prompt", json::array({json::array()})},
                                      {"prompt", json::array({""})},
                                      {"prompt", json::array({1, nullptr})},
                                      {"prompt", json::array({"a", 1})},
                                      {"prompt", json::array({1, "a"})},
                                      {"prompt", 5},
                                      {"prompt", json::array({-1})},
                                      {"prompt", json::array({kFakeVocab})},
                                      {"prompt", json::array({int64_t{1} << 40})},
                                      {"prompt", json::array({1.5})},
                                      {"prompt", json(std::vector<std::string>(100'000, ""))},
                                      {"logprobs", -1},
                                      {"logprobs", 21},
                                      {"logprobs", 1000000},
                                      {"logprobs", true},
                                      {"echo", "yes"}};
  for (const Refusal& c : cases) {
    const RawResponse response = CompletionWith(c.field, c.value);
    EXPECT_EQ(response.status, 400) << c.field << ": " << response.body;
    EXPECT_EQ(response.json()["error"]["param"], c.field) << response.body;
  }
  EXPECT_EQ(CompletionWith("prompt", json(std::vector<std::string>(300, "x"))).status, 400);
}

TEST_F(OpenAiValidation, AcceptsNeutralUnknownAndIgnoredValues) {
  const std::vector<std::pair<const char*, json>> cases = {{"temperature", 0},
                                                           {"temperature", 2},
                                                           {"temperature", nullptr},
                                                           {"temperature", 1e-38},
                                                           {"top_p", 1},
                                                           {"top_p", 1e-4},
                                                           {"top_k", -1},
                                                           {"top_k", 0},
                                                           {"top_k", 9999999},
                                                           {"seed", -1},
                                                           {"seed", uint64_t{1} << 63},
                                                           {"seed", nullptr},
                                                           {"stop", nullptr},
                                                           {"stop", json::array()},
                                                           {"stop", json::array({"zz"})},
                                                           {"max_tokens", nullptr},
                                                           {"presence_penalty", -2},
                                                           {"frequency_penalty", 1.5},
                                                           {"repetition_penalty", 1.1},
                                                           {"logit_bias", {{"5", -100}, {"6", 3}}},
                                                           {"min_tokens", 1},
                                                           {"logit_bias", json::object()},
                                                           {"logit_bias", nullptr},
                                                           {"response_format", {{"type", "text"}}},
                                                           {"best_of", 1},
                                                           {"user", "me"},
                                                           {"store", true},
                                                           {"metadata", {{"a", "b"}}},
                                                           {"service_tier", "auto"},
                                                           {"Max_Tokens", 100000},
                                                           {"whatever", {{"x", {1, 2, 3}}}},
                                                           {"parallel_tool_calls", true},
                                                           {"prompt_logprobs", nullptr},
                                                           {"truncate_prompt_tokens", nullptr},
                                                           {"documents", json::array()},
                                                           {"repeat_penalty", 1.0},
                                                           {"n_predict", -1},
                                                           {"top_n_sigma", -1},
                                                           {"function_call", "auto"},
                                                           {"modalities", {"text"}},
                                                           {"cache_salt", ""},
                                                           {"reasoning_effort", "low"},
                                                           {"prompt_cache_key", "k"},
                                                           {"max_completion_tokens", 5},
                                                           {"logprobs", nullptr},
                                                           {"stream", false}};
  for (const auto& [field, value] : cases) {
    const RawResponse chat = ChatWith(field, value);
    EXPECT_EQ(chat.status, 200) << field << " " << value << ": " << chat.body;
    const RawResponse completion = CompletionWith(field, value);
    EXPECT_EQ(completion.status, 200) << field << " " << value << ": " << completion.body;
  }
}

TEST_F(OpenAiValidation, RefusesWhatOnlyTheOtherKindOfRequestHas) {
  EXPECT_EQ(ChatWith("echo", true).json()["error"]["param"], "echo");
  EXPECT_EQ(ChatWith("echo", false).status, 200);
  EXPECT_EQ(CompletionWith("echo", true).status, 200);
  EXPECT_EQ(ChatWith("add_special_tokens", true).json()["error"]["param"], "add_special_tokens");
  EXPECT_EQ(ChatWith("add_special_tokens", false).status, 200);
  EXPECT_EQ(CompletionWith("add_special_tokens", false).json()["error"]["code"], "not_available");
  EXPECT_EQ(CompletionWith("add_special_tokens", true).status, 200);
}

TEST_F(OpenAiValidation, TakesBothNamesOfMaxTokensOnlyWhenTheyAgree) {
  json body = Chat();
  body["max_tokens"] = 5;
  body["max_completion_tokens"] = 5;
  EXPECT_EQ(Fetch(http(), kChat, body).status, 200);
  EXPECT_EQ(workers_[0]->AwaitSubmit().max_tokens(), 5);
  body["max_completion_tokens"] = 6;
  EXPECT_EQ(Fetch(http(), kChat, body).json()["error"]["param"], "max_completion_tokens");
}

TEST_F(OpenAiValidation, UsesTheDefaultsOfTheApi) {
  EXPECT_EQ(Fetch(http(), kChat, Chat()).status, 200);
  const v1::Submit chat = workers_[0]->AwaitSubmit();
  EXPECT_EQ(chat.max_tokens(), -1);  // the rest of the context
  EXPECT_EQ(chat.sampling().temperature(), 1);
  EXPECT_EQ(chat.sampling().logprobs(), -1);
  EXPECT_EQ(Fetch(http(), kCompletions, Completion("a")).status, 200);
  const v1::Submit completion = workers_[0]->AwaitSubmit();
  EXPECT_EQ(completion.max_tokens(), 16);
  EXPECT_NE(chat.sampling().seed(), completion.sampling().seed());
  EXPECT_EQ(completion.stop_token_ids().at(0), kEos);
}

TEST_F(OpenAiValidation, ReadsContentPartsNullContentAndToolHistory) {
  json body = Chat();
  body["messages"] = json::parse(R"([
    {"role":"developer","content":[{"type":"text","text":"be"},{"type":"text","text":"brief"}]},
    {"role":"assistant","content":null,"tool_calls":[
      {"id":"c1","type":"function","function":{"name":"f","arguments":"{}"}}]},
    {"role":"tool","tool_call_id":"c1","content":"4"},
    {"role":"assistant","tool_calls":[
      {"id":"c2","type":"function","function":{"name":"f","arguments":"{\"a\":1}"}}]},
    {"role":"user","content":"<eos>"}])");
  body["tools"] = json::parse(R"([{"type":"function","function":{"name":"f"}}])");
  body["tool_choice"] = "auto";
  EXPECT_EQ(Fetch(http(), kChat, body).status, 200);
  std::string prompt;
  const v1::Submit submit = workers_[0]->AwaitSubmit();
  for (const int32_t token : submit.tokens()) {
    prompt += static_cast<char>(token);
  }
  EXPECT_EQ(prompt, "[tools]system:be\nbrief\nassistant:\ntool:4\nassistant:\nuser:<eos>\n");
}

TEST_F(OpenAiValidation, RefusesWhatTheContextCannotHoldInBothModesBeforeAny200) {
  // The fake model's context: 4096.
  struct Case {
    size_t prompt;
    int64_t max_tokens;
    int status;
  };
  for (const Case& c :
       {Case{4096, 1, 400}, Case{4095, 2, 400}, Case{4095, 1, 200}, Case{10, 4087, 400},
        Case{10, 4086, 200}, Case{4097, 0, 400}, Case{4096, 0, 200}}) {
    for (const bool stream : {false, true}) {
      json body = Completion(std::string(c.prompt, 'x'));
      body["max_tokens"] = c.max_tokens;
      body["stream"] = stream;
      const RawResponse response = Fetch(http(), kCompletions, body);
      EXPECT_EQ(response.status, c.status) << c.prompt << " " << c.max_tokens;
      if (c.status == 400) {
        EXPECT_EQ(response.json()["error"]["code"], "context_length_exceeded");
      }
    }
  }
}

TEST_F(OpenAiValidation, NamesTheModelsThatExist) {
  json body = Chat();
  body["model"] = "../../etc/passwd";
  const RawResponse response = Fetch(http(), kChat, body);
  EXPECT_EQ(response.status, 404);
  EXPECT_EQ(response.json()["error"]["code"], "model_not_found");
  EXPECT_NE(response.body.find("tiny"), std::string::npos);
}

TEST_F(OpenAiValidation, CountsNoClientErrorAgainstAReplica) {
  for (int i = 0; i < 10; ++i) {
    json body = Completion(std::string(5000, 'x'));
    EXPECT_EQ(Fetch(http(), kCompletions, body).status, 400);
  }
  EXPECT_EQ(Fetch(http(), kCompletions, Completion("x")).status, 200);
  AwaitAllEnded();
}

}  // namespace
}  // namespace shoal::router
