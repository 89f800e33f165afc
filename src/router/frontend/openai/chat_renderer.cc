// SPDX-License-Identifier: Apache-2.0
// chat.completion and chat.completion.chunk.
#include <utility>

#include "router/frontend/openai/json_guard.h"
#include "router/frontend/openai/renderer.h"

namespace shoal::router {
namespace {

using nlohmann::json;

class ChatRenderer final : public Renderer {
 public:
  explicit ChatRenderer(RenderContext context)
      : context_(std::move(context)), choices_(static_cast<size_t>(context_.choices)) {
    for (Choice& choice : choices_) choice.logprobs = json::array();
  }

  std::string StreamStart() override {
    std::string out;
    for (int32_t i = 0; i < context_.choices; ++i) {
      out += Chunk(i, {{"role", "assistant"}, {"content", ""}}, nullptr, nullptr);
    }
    return out;
  }

  std::string StreamGrowth(const ChoiceEvent& event) override {
    Choice& choice = Remember(event);
    std::string out;
    const bool tail = event.finish.has_value() && !choice.logprobs.empty();
    if (!event.text.empty() || tail) {
      json delta = json::object();
      if (!event.text.empty()) delta["content"] = event.text;
      out += Chunk(event.choice, std::move(delta), TakeLogprobs(choice), nullptr);
    }
    if (event.finish.has_value()) {
      out += Chunk(event.choice, json::object(), nullptr, FinishName(*event.finish));
    }
    return out;
  }

  std::string StreamEnd(const EndEvent& end) override {
    std::string out;
    if (context_.include_usage) {
      json chunk = ResponseHead(context_, "chat.completion.chunk", numerics_);
      chunk["choices"] = json::array();
      chunk["usage"] = UsageJson(end.usage);
      out += SseData(chunk);
    }
    return out + "data: [DONE]\n\n";
  }

  void Collect(const ChoiceEvent& event) override {
    Choice& choice = Remember(event);
    choice.text += event.text;
    if (event.finish.has_value()) choice.finish = FinishName(*event.finish);
  }

  std::string Body(const EndEvent& end) override {
    json body = ResponseHead(context_, "chat.completion", numerics_);
    json list = json::array();
    for (size_t i = 0; i < choices_.size(); ++i) {
      Choice& choice = choices_[i];
      list.push_back(
          {{"index", i},
           {"message", {{"role", "assistant"}, {"content", choice.text}, {"refusal", nullptr}}},
           {"logprobs", TakeLogprobs(choice)},
           {"finish_reason", choice.finish}});
    }
    body["choices"] = std::move(list);
    body["usage"] = UsageJson(end.usage);
    return DumpJson(body);
  }

 private:
  struct Choice {
    std::string text;
    json logprobs;  // entries not sent yet
    std::string finish;
  };

  json TokenEntry(int32_t token, float logprob) const {
    const absl::string_view text = context_.tokenizer->TokenBytes(token);
    json bytes = json::array();
    for (const char c : text) bytes.push_back(static_cast<uint8_t>(c));
    return {{"token", std::string(text)},
            {"logprob", FiniteLogprob(logprob)},
            {"bytes", std::move(bytes)}};
  }

  Choice& Remember(const ChoiceEvent& event) {
    numerics_.Note(event);
    Choice& choice = choices_[static_cast<size_t>(event.choice)];
    if (!context_.wants_logprobs) return choice;
    const size_t count = event.tokens.size() - (event.last_token_hidden ? 1 : 0);
    for (size_t i = 0; i < count; ++i) {
      const scheduler::TokenOutput& token = event.tokens[i];
      json entry = TokenEntry(token.token, token.logprob);
      json top = json::array();
      for (const scheduler::TokenLogprob& other : token.top) {
        top.push_back(TokenEntry(other.token, other.logprob));
      }
      entry["top_logprobs"] = std::move(top);
      choice.logprobs.push_back(std::move(entry));
    }
    return choice;
  }

  json TakeLogprobs(Choice& choice) const {
    if (!context_.wants_logprobs) return nullptr;
    json content = std::exchange(choice.logprobs, json::array());
    return {{"content", std::move(content)}, {"refusal", nullptr}};
  }

  std::string Chunk(int32_t index, json delta, json logprobs, json finish) const {
    json chunk = ResponseHead(context_, "chat.completion.chunk", numerics_);
    chunk["choices"] = json::array({{{"index", index},
                                     {"delta", std::move(delta)},
                                     {"logprobs", std::move(logprobs)},
                                     {"finish_reason", std::move(finish)}}});
    if (context_.include_usage) chunk["usage"] = nullptr;
    return SseData(chunk);
  }

  const RenderContext context_;
  std::vector<Choice> choices_;
  AnswerNumerics numerics_;
};

}  // namespace

std::unique_ptr<Renderer> MakeChatRenderer(RenderContext context) {
  return std::make_unique<ChatRenderer>(std::move(context));
}

}  // namespace shoal::router
