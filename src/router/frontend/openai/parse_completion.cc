// SPDX-License-Identifier: Apache-2.0
// POST /v1/completions.
#include <utility>

#include "absl/status/status.h"
#include "absl/strings/str_cat.h"
#include "router/frontend/openai/common_fields.h"
#include "router/frontend/openai/parse_request.h"

namespace shoal::router {
namespace {

using json = nlohmann::ordered_json;

constexpr int64_t kDefaultMaxTokens = 16;  // as OpenAI's completions have it

std::optional<std::vector<int64_t>> TokenList(const json& list) {
  std::vector<int64_t> ids;
  ids.reserve(list.size());
  for (const json& item : list) {
    const std::optional<int64_t> id = AsInt64(item);
    if (!id.has_value()) return std::nullopt;
    ids.push_back(*id);
  }
  return ids;
}

// A string, a list of strings, a list of token ids, or a list of lists of token ids.
void ReadPrompt(Fields& fields, GenerationRequest& out) {
  const json* prompt = fields.Find("prompt");
  constexpr char kForms[] =
      "must be a string, a list of strings, a list of token ids or a list of such lists";
  if (prompt == nullptr) {
    fields.Fail("prompt", "is required");
    return;
  }
  if (prompt->is_string()) {
    out.prompts.push_back({false, prompt->get<std::string>(), {}});
    return;
  }
  if (!prompt->is_array() || prompt->empty()) {
    fields.Fail("prompt", prompt->is_array() ? "must not be empty" : kForms);
    return;
  }
  if (prompt->front().is_number()) {
    std::optional<std::vector<int64_t>> ids = TokenList(*prompt);
    if (!ids.has_value()) fields.Fail("prompt", kForms);
    out.prompts.push_back({true, "", std::move(ids).value_or(std::vector<int64_t>())});
    return;
  }
  if (static_cast<int64_t>(prompt->size()) > kSequencesMax) {
    fields.Fail("prompt", absl::StrCat("at most ", kSequencesMax, " prompts"));
    return;
  }
  for (const json& item : *prompt) {
    if (item.is_string() && prompt->front().is_string()) {
      out.prompts.push_back({false, item.get<std::string>(), {}});
      continue;
    }
    std::optional<std::vector<int64_t>> ids;
    if (item.is_array() && prompt->front().is_array()) ids = TokenList(item);
    if (!ids.has_value()) {
      fields.Fail("prompt", kForms);
      return;
    }
    out.prompts.push_back({true, "", *std::move(ids)});
  }
}

}  // namespace

absl::StatusOr<OpenAiRequest> ParseCompletion(const json& body) {
  if (!body.is_object()) {
    return absl::InvalidArgumentError("the request body must be a JSON object");
  }
  OpenAiRequest out;
  Fields fields(body);
  ReadCommon(fields, out);
  ReadPrompt(fields, out.generation);
  out.echo = fields.Bool("echo").value_or(false);
  GenerationParams& params = out.generation.params;
  params.logprobs = fields.Integer("logprobs");
  if (out.echo) params.prompt_logprobs = params.logprobs;
  if (!params.max_tokens.has_value()) params.max_tokens = kDefaultMaxTokens;
  if (!fields.status().ok()) return fields.status();
  return out;
}

}  // namespace shoal::router
