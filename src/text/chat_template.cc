// SPDX-License-Identifier: Apache-2.0
#include "text/chat_template.h"

#include <algorithm>
#include <utility>

#include "absl/strings/ascii.h"
#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "base/status.h"
#include "text/jinja/interpreter.h"
#include "text/jinja/json.h"
#include "text/jinja/parser.h"
#include "text/messages.h"

namespace shoal::text {
namespace {

using jinja::Expr;
using jinja::Kind;
using jinja::Node;
using jinja::Value;
using nlohmann::ordered_json;

bool NamesContent(const Expr& expr) {
  switch (expr.type) {
    case Expr::Type::kName:
    case Expr::Type::kAttribute:
      return expr.name == "content";
    case Expr::Type::kItem:
      return expr.children[1]->type == Expr::Type::kLiteral &&
             expr.children[1]->text.bytes == "content";
    default:
      return false;
  }
}

// The template has a loop over some message's content, so it can take lists of parts.
bool LoopsOverContent(const jinja::Body& body) {
  return std::any_of(body.begin(), body.end(), [](const std::unique_ptr<Node>& node) {
    if (node->type == Node::Type::kFor && NamesContent(*node->exprs[0])) return true;
    return std::any_of(node->bodies.begin(), node->bodies.end(), LoopsOverContent);
  });
}

// Put behind the content to continue, so that its end can be found in what the template makes of
// it. A template that strips its messages takes the last space.
constexpr absl::string_view kContinueMark = "CONTINUE-THE-FINAL-MESSAGE-HERE ";

// The text of the last message, to write to.
absl::StatusOr<std::string*> FinalText(ordered_json* messages) {
  const absl::Status none = absl::InvalidArgumentError(
      "continue_final_message: the last message has no text to continue");
  if (messages->empty()) return none;
  ordered_json& content = messages->back()["content"];
  if (content.is_string()) return content.get_ptr<std::string*>();
  if (!content.is_array()) return none;
  for (size_t i = content.size(); i-- > 0;) {
    ordered_json& part = content[i];
    if (part.is_string()) return part.get_ptr<std::string*>();
    if (part.is_object() && part.contains("text") && part["text"].is_string()) {
      return part["text"].get_ptr<std::string*>();
    }
  }
  return none;
}

absl::Status CutAtMark(jinja::Text* text) {
  const absl::string_view mark = absl::StripTrailingAsciiWhitespace(kContinueMark);
  size_t end = text->bytes.rfind(std::string(mark));
  if (end == std::string::npos) {
    return absl::InvalidArgumentError(
        "continue_final_message: the chat template does not show the last message's content as it "
        "is");
  }
  const bool keeps_space =
      absl::StartsWith(absl::string_view(text->bytes).substr(end), kContinueMark);
  if (!keeps_space) {
    end = absl::StripTrailingAsciiWhitespace(absl::string_view(text->bytes).substr(0, end)).size();
  }
  text->user = jinja::UserRanges(*text, 0, end);
  text->bytes.resize(end);
  return absl::OkStatus();
}

// Known role names become the template's own words.
void TrustRoles(const Value& messages, jinja::Arena* arena) {
  for (const Value& message : messages.list->items) {
    const Value* role = message.dict->Find("role");
    if (role == nullptr || !role->is(Kind::kString) || !IsKnownRole(role->str())) continue;
    message.dict->Set(arena->NewString("role", false), arena->NewString(role->str(), false));
  }
}

class ParsedChatTemplate final : public ChatTemplate {
 public:
  ParsedChatTemplate(jinja::Body body, std::string bos_token, std::string eos_token)
      : body_(std::move(body)),
        takes_parts_(LoopsOverContent(body_)),
        bos_token_(std::move(bos_token)),
        eos_token_(std::move(eos_token)) {}

  absl::StatusOr<std::string> Render(const ordered_json& messages, const ordered_json& variables,
                                     const RenderOptions& options) const override {
    SHOAL_ASSIGN_OR_RETURN(jinja::Text text, RenderText(messages, variables, options));
    return std::move(text.bytes);
  }

  absl::StatusOr<std::vector<int32_t>> RenderTokens(const Tokenizer& tokenizer,
                                                    const ordered_json& messages,
                                                    const ordered_json& variables,
                                                    const RenderOptions& options) const override {
    SHOAL_ASSIGN_OR_RETURN(jinja::Text text, RenderText(messages, variables, options));
    EncodeOptions encode;
    encode.plain_ranges = std::move(text.user);
    return tokenizer.Encode(text.bytes, encode);
  }

 private:
  absl::StatusOr<jinja::Text> RenderText(const ordered_json& messages,
                                         const ordered_json& variables,
                                         const RenderOptions& options) const {
    if (!variables.is_object() && !variables.is_null()) {
      return absl::InvalidArgumentError("the chat template's variables are not an object");
    }
    SHOAL_ASSIGN_OR_RETURN(ordered_json normalized,
                           NormalizeMessages(messages, /*join_parts=*/!takes_parts_));
    if (options.continue_final_message) {
      if (options.add_generation_prompt) {
        return absl::InvalidArgumentError(
            "continue_final_message and add_generation_prompt exclude each other");
      }
      SHOAL_ASSIGN_OR_RETURN(std::string* const final_text, FinalText(&normalized));
      absl::StrAppend(final_text, kContinueMark);
    }
    jinja::Machine machine;
    machine.now = options.now;
    jinja::Interpreter interpreter(&machine);
    interpreter.Define("tools", Value::None());
    interpreter.Define("documents", Value::None());
    for (const auto& [name, json] : variables.items()) {
      SHOAL_ASSIGN_OR_RETURN(const Value value, jinja::FromJson(json, &machine.arena));
      interpreter.Define(name, value);
    }
    SHOAL_ASSIGN_OR_RETURN(const Value list, jinja::FromJson(normalized, &machine.arena));
    TrustRoles(list, &machine.arena);
    interpreter.Define("messages", list);
    interpreter.Define("add_generation_prompt", Value::Bool(options.add_generation_prompt));
    if (!bos_token_.empty()) {
      interpreter.Define("bos_token", machine.arena.NewString(bos_token_, false));
    }
    if (!eos_token_.empty()) {
      interpreter.Define("eos_token", machine.arena.NewString(eos_token_, false));
    }
    SHOAL_ASSIGN_OR_RETURN(jinja::Text text, interpreter.Run(body_));
    if (options.continue_final_message) SHOAL_RETURN_IF_ERROR(CutAtMark(&text));
    return text;
  }

  const jinja::Body body_;
  const bool takes_parts_;
  const std::string bos_token_;
  const std::string eos_token_;
};

bool IsFilled(const ordered_json& variables, const char* name) {
  const auto found = variables.is_object() ? variables.find(name) : variables.end();
  return found != variables.end() && found->is_array() && !found->empty();
}

class SeveralChatTemplates final : public ChatTemplate {
 public:
  explicit SeveralChatTemplates(std::unique_ptr<ChatTemplate> usual) : usual_(std::move(usual)) {}

  void Add(const std::string& name, std::unique_ptr<ChatTemplate> parsed) {
    if (name == "tool_use") tool_use_ = std::move(parsed);
    if (name == "rag") rag_ = std::move(parsed);
  }

  absl::StatusOr<std::string> Render(const ordered_json& messages, const ordered_json& variables,
                                     const RenderOptions& options) const override {
    return For(variables).Render(messages, variables, options);
  }

  absl::StatusOr<std::vector<int32_t>> RenderTokens(const Tokenizer& tokenizer,
                                                    const ordered_json& messages,
                                                    const ordered_json& variables,
                                                    const RenderOptions& options) const override {
    return For(variables).RenderTokens(tokenizer, messages, variables, options);
  }

 private:
  const ChatTemplate& For(const ordered_json& variables) const {
    const bool tools = IsFilled(variables, "tools");
    if (tools && tool_use_ != nullptr) return *tool_use_;
    if (!tools && rag_ != nullptr && IsFilled(variables, "documents")) return *rag_;
    return *usual_;
  }

  const std::unique_ptr<ChatTemplate> usual_;
  std::unique_ptr<ChatTemplate> tool_use_;
  std::unique_ptr<ChatTemplate> rag_;
};

}  // namespace

absl::StatusOr<std::unique_ptr<ChatTemplate>> ParseChatTemplates(
    const std::string& source, const std::vector<NamedTemplate>& named,
    const std::string& bos_token, const std::string& eos_token) {
  SHOAL_ASSIGN_OR_RETURN(auto usual, ParseChatTemplate(source, bos_token, eos_token));
  if (named.empty()) return usual;
  auto several = std::make_unique<SeveralChatTemplates>(std::move(usual));
  for (const NamedTemplate& entry : named) {
    auto parsed = ParseChatTemplate(entry.source, bos_token, eos_token);
    if (!parsed.ok()) {
      return Annotate(parsed.status(), absl::StrCat("the chat template '", entry.name, "'"));
    }
    several->Add(entry.name, *std::move(parsed));
  }
  return several;
}

absl::StatusOr<std::unique_ptr<ChatTemplate>> ParseChatTemplate(const std::string& source,
                                                                const std::string& bos_token,
                                                                const std::string& eos_token) {
  SHOAL_ASSIGN_OR_RETURN(jinja::Body body, jinja::ParseTemplate(source));
  return std::make_unique<ParsedChatTemplate>(std::move(body), bos_token, eos_token);
}

}  // namespace shoal::text
