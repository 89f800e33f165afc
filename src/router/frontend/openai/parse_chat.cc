// SPDX-License-Identifier: Apache-2.0
// POST /v1/chat/completions.
#include <utility>

#include "absl/status/status.h"
#include "absl/strings/str_cat.h"
#include "base/status.h"
#include "router/api_error.h"
#include "router/frontend/openai/common_fields.h"
#include "router/frontend/openai/parse_request.h"

namespace shoal::router {
namespace {

using json = nlohmann::ordered_json;

constexpr size_t kMessagesMax = 10'000;

// A string, null or absent, or a list of text parts. How parts become text is the template's
// matter.
absl::Status CheckContent(const json& message, const std::string& where) {
  const auto it = message.find("content");
  if (it == message.end() || it->is_null() || it->is_string()) return absl::OkStatus();
  const std::string param = absl::StrCat(where, ".content");
  if (!it->is_array()) return BadParam(param, "must be a string, null or a list of parts");
  for (const json& part : *it) {
    const bool typed = part.is_object() && part.contains("type") && part["type"].is_string();
    if (!typed) return BadParam(param, "every part needs a type");
    const std::string type = part["type"].get<std::string>();
    if (type != "text") {
      return BadParam(param, absl::StrCat("parts of type \"", type.substr(0, 50),
                                          "\" are not available yet; only text is"));
    }
    if (!part.contains("text") || !part["text"].is_string()) {
      return BadParam(param, "a text part needs a string \"text\"");
    }
  }
  return absl::OkStatus();
}

absl::Status CheckToolCalls(const json& message, const std::string& where) {
  const auto calls = message.find("tool_calls");
  if (calls == message.end() || calls->is_null()) return absl::OkStatus();
  const std::string param = absl::StrCat(where, ".tool_calls");
  if (!calls->is_array()) return BadParam(param, "must be a list");
  for (const json& call : *calls) {
    const bool shaped = call.is_object() && call.contains("function") &&
                        call["function"].is_object() && call["function"].contains("name") &&
                        call["function"]["name"].is_string();
    if (!shaped) return BadParam(param, "every call needs a function with a name");
  }
  return absl::OkStatus();
}

absl::StatusOr<json> Messages(const json* list) {
  if (list == nullptr) return BadParam("messages", "is required");
  if (!list->is_array()) return BadParam("messages", "must be a list");
  if (list->empty()) return BadParam("messages", "must not be empty");
  if (list->size() > kMessagesMax) {
    return BadParam("messages", absl::StrCat("at most ", kMessagesMax, " messages"));
  }
  json out = json::array();
  for (size_t i = 0; i < list->size(); ++i) {
    const std::string where = absl::StrCat("messages[", i, "]");
    json message = (*list)[i];
    if (!message.is_object()) return BadParam(where, "must be an object");
    const auto role = message.find("role");
    if (role == message.end() || !role->is_string() || role->get<std::string>().empty()) {
      return BadParam(absl::StrCat(where, ".role"), "must be a string");
    }
    // Open models know no developer; it is the system's newer name.
    if (*role == "developer") *role = "system";
    SHOAL_RETURN_IF_ERROR(CheckContent(message, where));
    SHOAL_RETURN_IF_ERROR(CheckToolCalls(message, where));
    if (message.contains("tool_calls") && message["tool_calls"].is_null()) {
      message.erase("tool_calls");
    }
    out.push_back(std::move(message));
  }
  return out;
}

void ReadTools(Fields& fields, GenerationRequest& out) {
  const json* choice = fields.Find("tool_choice");
  if (choice != nullptr && *choice != "auto" && *choice != "none") {
    fields.Fail(NotAvailableYet("tool_choice"));
  }
  const json* tools = fields.Find("tools");
  if (tools == nullptr) return;
  if (!tools->is_array()) {
    fields.Fail("tools", "must be a list");
    return;
  }
  for (const json& tool : *tools) {
    const bool shaped = tool.is_object() && tool.contains("type") && tool["type"] == "function" &&
                        tool.contains("function") && tool["function"].is_object() &&
                        tool["function"].contains("name") && tool["function"]["name"].is_string();
    if (!shaped) {
      fields.Fail("tools", "every tool needs type \"function\" and a function with a name");
      return;
    }
  }
  if (!tools->empty()) out.variables["tools"] = *tools;
}

void ReadTemplateVariables(Fields& fields, GenerationRequest& out) {
  const json* kwargs = fields.Find("chat_template_kwargs");
  if (kwargs == nullptr) return;
  if (!kwargs->is_object()) {
    fields.Fail("chat_template_kwargs", "must be an object");
    return;
  }
  for (const auto& [key, value] : kwargs->items()) {
    if (key == "messages" || key == "tools" || key == "add_generation_prompt") {
      fields.Fail("chat_template_kwargs", absl::StrCat("must not set ", key));
      return;
    }
    out.variables[key] = value;
  }
}

void ReadLogprobs(Fields& fields, GenerationParams& params) {
  const bool wanted = fields.Bool("logprobs").value_or(false);
  const std::optional<int64_t> top = fields.Integer("top_logprobs");
  if (top.has_value() && (*top < 0 || *top > 20)) {
    fields.Fail("top_logprobs", absl::StrCat(*top, " is outside [0, 20]"));
  }
  if (top.value_or(0) > 0 && !wanted) {
    fields.Fail("top_logprobs", "needs logprobs to be true");
  }
  if (wanted) params.logprobs = top.value_or(0);
}

}  // namespace

absl::StatusOr<OpenAiRequest> ParseChat(const json& body) {
  if (!body.is_object()) {
    return absl::InvalidArgumentError("the request body must be a JSON object");
  }
  OpenAiRequest out;
  out.generation.chat = true;
  Fields fields(body);
  ReadCommon(fields, out);
  auto messages = Messages(fields.Find("messages"));
  if (messages.ok()) {
    out.generation.messages = *std::move(messages);
  } else {
    fields.Fail(messages.status());
  }
  ReadTools(fields, out.generation);
  ReadTemplateVariables(fields, out.generation);
  ReadLogprobs(fields, out.generation.params);
  out.generation.add_generation_prompt = fields.Bool("add_generation_prompt").value_or(true);
  const std::optional<int64_t>& max_tokens = out.generation.params.max_tokens;
  if (max_tokens.has_value() && *max_tokens < 1) {
    fields.Fail("max_tokens", "must be at least 1");
  }
  if (!fields.status().ok()) return fields.status();
  return out;
}

}  // namespace shoal::router
