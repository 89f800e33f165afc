// SPDX-License-Identifier: Apache-2.0
#include "text/chat_template.h"

#include <algorithm>
#include <utility>

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
    SHOAL_ASSIGN_OR_RETURN(const ordered_json normalized,
                           NormalizeMessages(messages, /*join_parts=*/!takes_parts_));
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
    return interpreter.Run(body_);
  }

  const jinja::Body body_;
  const bool takes_parts_;
  const std::string bos_token_;
  const std::string eos_token_;
};

}  // namespace

absl::StatusOr<std::unique_ptr<ChatTemplate>> ParseChatTemplate(const std::string& source,
                                                                const std::string& bos_token,
                                                                const std::string& eos_token) {
  SHOAL_ASSIGN_OR_RETURN(jinja::Body body, jinja::ParseTemplate(source));
  return std::make_unique<ParsedChatTemplate>(std::move(body), bos_token, eos_token);
}

}  // namespace shoal::text
