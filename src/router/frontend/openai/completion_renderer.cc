// SPDX-License-Identifier: Apache-2.0
// text_completion, whole and as chunks.
#include <utility>

#include "absl/strings/str_format.h"
#include "router/frontend/openai/json_guard.h"
#include "router/frontend/openai/renderer.h"

namespace shoal::router {
namespace {

using nlohmann::json;

int64_t CodePoints(absl::string_view bytes) {
  int64_t count = 0;
  for (const char c : bytes) count += (static_cast<uint8_t>(c) & 0xC0) != 0x80 ? 1 : 0;
  return count;
}

bool IsUtf8(absl::string_view bytes) {
  const json value = std::string(bytes);
  return json::accept(value.dump(-1, ' ', false, json::error_handler_t::ignore)) &&
         value.dump(-1, ' ', false, json::error_handler_t::ignore) ==
             value.dump(-1, ' ', false, json::error_handler_t::replace);
}

class CompletionRenderer final : public Renderer {
 public:
  explicit CompletionRenderer(RenderContext context)
      : context_(std::move(context)), choices_(static_cast<size_t>(context_.choices)) {
    for (Choice& choice : choices_) choice.logprobs = EmptyLogprobs();
  }

  std::string StreamStart() override { return ""; }

  std::string StreamGrowth(const ChoiceEvent& event) override {
    const std::string text = Remember(event);
    Choice& choice = choices_[static_cast<size_t>(event.choice)];
    const bool tail = event.finish.has_value();
    if (text.empty() && !tail) return "";
    json finish = tail ? json(FinishName(*event.finish)) : json(nullptr);
    return SseData(WithChoices(json::array({{{"index", event.choice},
                                             {"text", text},
                                             {"logprobs", TakeLogprobs(choice)},
                                             {"finish_reason", std::move(finish)}}}),
                               nullptr));
  }

  std::string StreamEnd(const EndEvent& end) override {
    std::string out;
    if (context_.include_usage) {
      out += SseData(WithChoices(json::array(), UsageJson(end.usage)));
    }
    return out + "data: [DONE]\n\n";
  }

  void Collect(const ChoiceEvent& event) override {
    Choice& choice = choices_[static_cast<size_t>(event.choice)];
    choice.text += Remember(event);
    if (event.finish.has_value()) choice.finish = FinishName(*event.finish);
  }

  std::string Body(const EndEvent& end) override {
    json list = json::array();
    for (size_t i = 0; i < choices_.size(); ++i) {
      list.push_back({{"index", i},
                      {"text", choices_[i].text},
                      {"logprobs", TakeLogprobs(choices_[i])},
                      {"finish_reason", choices_[i].finish}});
    }
    json body = ResponseHead(context_, "text_completion", numerics_);
    body["choices"] = std::move(list);
    body["usage"] = UsageJson(end.usage);
    return DumpJson(body);
  }

 private:
  struct Choice {
    std::string text;
    json logprobs;  // not sent yet
    int64_t offset = 0;
    bool echoed = false;
    std::string finish;
  };

  static json EmptyLogprobs() {
    return {{"tokens", json::array()},
            {"token_logprobs", json::array()},
            {"top_logprobs", json::array()},
            {"text_offset", json::array()}};
  }

  // A token that is no whole UTF-8 text is shown as bytes, so that no two tokens look the same.
  std::string TokenText(int32_t token) const {
    const absl::string_view bytes = context_.tokenizer->TokenBytes(token);
    if (IsUtf8(bytes)) return std::string(bytes);
    std::string out = "bytes:";
    for (const char c : bytes) out += absl::StrFormat("\\x%02x", static_cast<uint8_t>(c));
    return out;
  }

  void AddEntry(Choice& choice, const scheduler::TokenOutput& token, bool scored) const {
    json& lists = choice.logprobs;
    const std::string text = TokenText(token.token);
    lists["tokens"].push_back(text);
    lists["text_offset"].push_back(choice.offset);
    choice.offset += CodePoints(context_.tokenizer->TokenBytes(token.token));
    if (!scored) {
      lists["token_logprobs"].push_back(nullptr);
      lists["top_logprobs"].push_back(nullptr);
      return;
    }
    lists["token_logprobs"].push_back(FiniteLogprob(token.logprob));
    json top = json::object();
    for (const scheduler::TokenLogprob& other : token.top) {
      top[TokenText(other.token)] = FiniteLogprob(other.logprob);
    }
    if (!token.top.empty()) top.emplace(text, FiniteLogprob(token.logprob));
    lists["top_logprobs"].push_back(token.top.empty() ? json(nullptr) : std::move(top));
  }

  // Takes note of the growth and returns its text, with the prompt before the first.
  std::string Remember(const ChoiceEvent& event) {
    numerics_.Note(event);
    Choice& choice = choices_[static_cast<size_t>(event.choice)];
    const auto prompt = static_cast<size_t>(event.choice / context_.n);
    std::string text;
    if (!context_.echo_texts.empty() && !choice.echoed) {
      choice.echoed = true;
      text = context_.echo_texts[prompt];
      if (context_.wants_logprobs) {
        scheduler::TokenOutput first;
        first.token = context_.echo_tokens[prompt].front();
        AddEntry(choice, first, /*scored=*/false);
      }
    }
    text += event.text;
    if (!context_.wants_logprobs) return text;
    if (!context_.echo_texts.empty()) {
      for (const scheduler::TokenOutput& token : event.prompt) AddEntry(choice, token, true);
    }
    const size_t count = event.tokens.size() - (event.last_token_hidden ? 1 : 0);
    for (size_t i = 0; i < count; ++i) AddEntry(choice, event.tokens[i], true);
    return text;
  }

  json TakeLogprobs(Choice& choice) const {
    if (!context_.wants_logprobs) return nullptr;
    return std::exchange(choice.logprobs, EmptyLogprobs());
  }

  json WithChoices(json choices, json usage) const {
    json chunk = ResponseHead(context_, "text_completion", numerics_);
    chunk["choices"] = std::move(choices);
    if (context_.include_usage) chunk["usage"] = std::move(usage);
    return chunk;
  }

  const RenderContext context_;
  std::vector<Choice> choices_;
  AnswerNumerics numerics_;
};

}  // namespace

std::unique_ptr<Renderer> MakeCompletionRenderer(RenderContext context) {
  return std::make_unique<CompletionRenderer>(std::move(context));
}

}  // namespace shoal::router
