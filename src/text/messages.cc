// SPDX-License-Identifier: Apache-2.0
#include "text/messages.h"

#include <iterator>
#include <string>

#include "base/status.h"
#include "nlohmann/json.hpp"

namespace shoal::text {
namespace {

using nlohmann::ordered_json;

constexpr int kArgumentsDepthMax = 64;

absl::Status JoinParts(size_t index, ordered_json* content) {
  std::string joined;
  bool first = true;
  for (const ordered_json& part : *content) {
    std::string text;
    if (part.is_string()) {
      text = part.get<std::string>();
    } else if (part.is_object() && part.contains("text") && part["text"].is_string()) {
      text = part["text"].get<std::string>();
    } else {
      return absl::InvalidArgumentError(
          absl::StrCat("messages[", index, "].content: only text parts are supported"));
    }
    if (!first) joined += '\n';
    first = false;
    joined += text;
  }
  *content = joined;
  return absl::OkStatus();
}

// Arguments arrive as JSON text; templates expect what it says. Text that is no object stays.
void ParseArguments(ordered_json* call) {
  if (!call->is_object()) return;
  ordered_json& holder =
      call->contains("function") && (*call)["function"].is_object() ? (*call)["function"] : *call;
  const auto arguments = holder.find("arguments");
  if (arguments == holder.end() || !arguments->is_string()) return;
  bool too_deep = false;
  const auto watch_depth = [&](int depth, ordered_json::parse_event_t, ordered_json&) {
    if (depth > kArgumentsDepthMax) too_deep = true;
    return !too_deep;
  };
  ordered_json parsed = ordered_json::parse(arguments->get_ref<const std::string&>(), watch_depth,
                                            /*allow_exceptions=*/false);
  if (!too_deep && parsed.is_object()) *arguments = std::move(parsed);
}

// Members that are null count as absent; content is always there.
void DropNulls(ordered_json* message) {
  for (auto it = message->begin(); it != message->end();) {
    it = it->is_null() ? message->erase(it) : std::next(it);
  }
  if (!message->contains("content")) (*message)["content"] = "";
}

// Templates read a message's reasoning under one of two names, clients write it under three.
void NameReasoning(ordered_json* message) {
  for (const char* name : {"reasoning_content", "thinking", "reasoning"}) {
    const auto found = message->find(name);
    if (found == message->end()) continue;
    const ordered_json reasoning = *found;
    if (!message->contains("thinking")) (*message)["thinking"] = reasoning;
    (*message)["reasoning_content"] = reasoning;
    return;
  }
}

}  // namespace

absl::StatusOr<ordered_json> NormalizeMessages(const ordered_json& messages, bool join_parts) {
  if (!messages.is_array()) return absl::InvalidArgumentError("messages is not a list");
  ordered_json normalized = messages;
  size_t index = 0;
  for (ordered_json& message : normalized) {
    if (!message.is_object() || !message.contains("role") || !message["role"].is_string()) {
      return absl::InvalidArgumentError(
          absl::StrCat("messages[", index, "] is not an object with a role"));
    }
    DropNulls(&message);
    NameReasoning(&message);
    if (join_parts && message["content"].is_array()) {
      SHOAL_RETURN_IF_ERROR(JoinParts(index, &message["content"]));
    }
    if (const auto calls = message.find("tool_calls"); calls != message.end()) {
      if (calls->is_array()) {
        for (ordered_json& call : *calls) ParseArguments(&call);
      }
    }
    ++index;
  }
  return normalized;
}

bool IsKnownRole(absl::string_view role) {
  return role == "system" || role == "developer" || role == "user" || role == "assistant" ||
         role == "tool" || role == "function" || role == "ipython" || role == "model";
}

}  // namespace shoal::text
