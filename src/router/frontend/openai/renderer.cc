// SPDX-License-Identifier: Apache-2.0
#include "router/frontend/openai/renderer.h"

#include <cmath>

#include "absl/strings/str_cat.h"
#include "router/frontend/openai/json_guard.h"

namespace shoal::router {

using nlohmann::json;

std::string SseData(const json& value) { return absl::StrCat("data: ", DumpJson(value), "\n\n"); }

json ResponseHead(const RenderContext& context, const char* object,
                  const AnswerNumerics& numerics) {
  json head = {{"id", context.id},
               {"object", object},
               {"created", context.created},
               {"model", context.model}};
  const std::string& fingerprint = numerics.fingerprint;
  head["system_fingerprint"] = fingerprint.empty() ? json(nullptr) : json(fingerprint);
  if (!numerics.exact) head["exact"] = false;
  return head;
}

json UsageJson(const RequestUsage& usage) {
  return {{"prompt_tokens", usage.prompt_tokens},
          {"completion_tokens", usage.completion_tokens},
          {"total_tokens", usage.prompt_tokens + usage.completion_tokens},
          {"prompt_tokens_details", {{"cached_tokens", usage.cached_tokens}}},
          {"completion_tokens_details", {{"reasoning_tokens", 0}}}};
}

const char* FinishName(ChoiceFinish finish) {
  return finish == ChoiceFinish::kStop ? "stop" : "length";
}

double FiniteLogprob(float logprob) {
  return std::isfinite(logprob) ? static_cast<double>(logprob) : -9999.0;
}

}  // namespace shoal::router
