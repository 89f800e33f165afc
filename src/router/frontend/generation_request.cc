// SPDX-License-Identifier: Apache-2.0
#include "router/frontend/generation_request.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <set>
#include <utility>

#include "absl/strings/str_cat.h"
#include "base/status.h"
#include "router/api_error.h"
#include "text/chat_template.h"

namespace shoal::router {
namespace {

constexpr int64_t kInt32Max = std::numeric_limits<int32_t>::max();

struct NumberRule {
  const char* name;
  std::optional<double> GenerationParams::*member;
  double min, max;
  bool above_min;  // min itself is not allowed
  bool below_max;
};

constexpr NumberRule kNumberRules[] = {
    {"temperature", &GenerationParams::temperature, 0, 2, false, false},
    {"top_p", &GenerationParams::top_p, 0, 1, true, false},
    {"min_p", &GenerationParams::min_p, 0, 1, false, true},
    {"repetition_penalty", &GenerationParams::repetition_penalty, 0, 10, true, false},
    {"presence_penalty", &GenerationParams::presence_penalty, -2, 2, false, false},
    {"frequency_penalty", &GenerationParams::frequency_penalty, -2, 2, false, false},
};

struct IntegerRule {
  const char* name;
  std::optional<int64_t> GenerationParams::*member;
  int64_t min, max;
};

constexpr IntegerRule kIntegerRules[] = {
    {"top_k", &GenerationParams::top_k, -1, kInt32Max},
    {"n", &GenerationParams::n, 1, 128},
    {"max_tokens", &GenerationParams::max_tokens, 0, kInt32Max},
    {"min_tokens", &GenerationParams::min_tokens, 0, kInt32Max},
    {"logprobs", &GenerationParams::logprobs, 0, 20},
    {"prompt_logprobs", &GenerationParams::prompt_logprobs, 0, 20},
    {"priority", &GenerationParams::priority, -1000, 1000},
};

absl::Status CheckNumber(const NumberRule& rule, double value) {
  // Written so that NaN fails.
  const bool low = rule.above_min ? value > rule.min : value >= rule.min;
  const bool high = rule.below_max ? value < rule.max : value <= rule.max;
  if (low && high) return absl::OkStatus();
  return BadParam(rule.name, absl::StrCat(value, " is outside ", rule.above_min ? "(" : "[",
                                          rule.min, ", ", rule.max, rule.below_max ? ")" : "]"));
}

absl::Status CheckStops(const GenerationParams& params) {
  if (params.stop.size() > kStopStringsMax) {
    return BadParam("stop", absl::StrCat("at most ", kStopStringsMax, " strings"));
  }
  for (const std::string& stop : params.stop) {
    if (stop.empty()) return BadParam("stop", "a stop string must not be empty");
    if (stop.size() > kStopStringBytesMax) {
      return BadParam("stop", absl::StrCat("at most ", kStopStringBytesMax, " bytes each"));
    }
  }
  if (params.stop_token_ids.size() > kStopTokensMax) {
    return BadParam("stop_token_ids", absl::StrCat("at most ", kStopTokensMax, " ids"));
  }
  return absl::OkStatus();
}

absl::Status CheckBiases(const GenerationParams& params) {
  if (params.logit_bias.size() > kLogitBiasesMax) {
    return BadParam("logit_bias", absl::StrCat("at most ", kLogitBiasesMax, " tokens"));
  }
  std::set<int64_t> seen;
  for (const auto& [token, bias] : params.logit_bias) {
    if (!(std::fabs(bias) <= kLogitBiasMax)) {
      return BadParam("logit_bias", absl::StrCat(bias, " is outside [-100, 100]"));
    }
    if (!seen.insert(token).second) {
      return BadParam("logit_bias", absl::StrCat("names token ", token, " twice"));
    }
  }
  return absl::OkStatus();
}

absl::StatusOr<std::vector<int32_t>> CheckIds(const std::vector<int64_t>& ids, int32_t vocab_size,
                                              const char* param) {
  std::vector<int32_t> out;
  out.reserve(ids.size());
  for (const int64_t id : ids) {
    if (id < 0 || id >= vocab_size) {
      return BadParam(param, absl::StrCat("token id ", id, " is outside [0, ", vocab_size, ")"));
    }
    out.push_back(static_cast<int32_t>(id));
  }
  return out;
}

absl::StatusOr<std::vector<int32_t>> PromptTokens(const PromptInput& prompt,
                                                  const ServedModel& model) {
  if (prompt.is_tokens) {
    if (prompt.tokens.empty()) return BadParam("prompt", "must not be empty");
    return CheckIds(prompt.tokens, model.tokenizer->vocab_size(), "prompt");
  }
  if (prompt.text.empty()) return BadParam("prompt", "must not be empty");
  auto tokens = model.tokenizer->Encode(prompt.text, {});
  if (!tokens.ok()) {
    return ApiError(tokens.status().code(), tokens.status().message(), "prompt");
  }
  if (tokens->empty()) return BadParam("prompt", "has no tokens");
  return tokens;
}

}  // namespace

absl::Status CheckParams(const GenerationParams& params) {
  for (const NumberRule& rule : kNumberRules) {
    const std::optional<double>& value = params.*rule.member;
    if (value.has_value()) SHOAL_RETURN_IF_ERROR(CheckNumber(rule, *value));
  }
  for (const IntegerRule& rule : kIntegerRules) {
    const std::optional<int64_t>& value = params.*rule.member;
    if (value.has_value() && (*value < rule.min || *value > rule.max)) {
      return BadParam(rule.name,
                      absl::StrCat(*value, " is outside [", rule.min, ", ", rule.max, "]"));
    }
  }
  SHOAL_RETURN_IF_ERROR(CheckBiases(params));
  if (params.max_tokens.has_value() && params.min_tokens.value_or(0) > *params.max_tokens) {
    return BadParam("min_tokens",
                    absl::StrCat(*params.min_tokens, " is above max_tokens ", *params.max_tokens));
  }
  if (params.cache_salt.size() > kCacheSaltBytesMax) {
    return BadParam("cache_salt", absl::StrCat("at most ", kCacheSaltBytesMax, " bytes"));
  }
  return CheckStops(params);
}

absl::StatusOr<std::vector<int32_t>> RenderChat(const ServedModel& model,
                                                const nlohmann::ordered_json& messages,
                                                const nlohmann::ordered_json& variables,
                                                bool add_generation_prompt, absl::Time now) {
  if (model.chat == nullptr) {
    return ApiError(absl::StatusCode::kInvalidArgument,
                    absl::StrCat("model ", model.name,
                                 " has no chat template; use completions, or set "
                                 "models[].chat_template"),
                    "messages", "no_chat_template");
  }
  text::RenderOptions options;
  options.add_generation_prompt = add_generation_prompt;
  options.now = now;
  auto tokens = model.chat->RenderTokens(*model.tokenizer, messages, variables, options);
  if (!tokens.ok()) {
    return ApiError(absl::StatusCode::kInvalidArgument, tokens.status().message(), "messages",
                    "template_refused");
  }
  if (tokens->empty()) return BadParam("messages", "render to nothing");
  return tokens;
}

absl::StatusOr<RequestSpec> Prepare(const GenerationRequest& request, const ServedModel& model,
                                    uint64_t default_seed) {
  const GenerationParams& params = request.params;
  SHOAL_RETURN_IF_ERROR(CheckParams(params));
  RequestSpec spec;
  spec.label = request.label;
  spec.model = model.name;
  spec.n = static_cast<int32_t>(params.n.value_or(1));
  const int64_t prompts = request.chat ? 1 : static_cast<int64_t>(request.prompts.size());
  if (prompts == 0) return BadParam("prompt", "must not be empty");
  if (prompts * spec.n > kSequencesMax) {
    return BadParam(
        prompts > 1 ? "prompt" : "n",
        absl::StrCat("prompts times n is ", prompts * spec.n, ", more than ", kSequencesMax));
  }
  if (request.chat) {
    SHOAL_ASSIGN_OR_RETURN(std::vector<int32_t> tokens,
                           RenderChat(model, request.messages, request.variables,
                                      request.add_generation_prompt, request.arrival));
    spec.prompts.push_back(std::move(tokens));
  }
  for (const PromptInput& prompt : request.prompts) {
    SHOAL_ASSIGN_OR_RETURN(std::vector<int32_t> tokens, PromptTokens(prompt, model));
    spec.prompts.push_back(std::move(tokens));
  }
  SHOAL_ASSIGN_OR_RETURN(
      spec.stop_token_ids,
      CheckIds(params.stop_token_ids, model.tokenizer->vocab_size(), "stop_token_ids"));
  if (!params.ignore_eos) spec.eos_token_ids = model.tokenizer->eos();
  spec.sampling.temperature = static_cast<float>(params.temperature.value_or(1));
  spec.sampling.top_p = static_cast<float>(params.top_p.value_or(1));
  spec.sampling.min_p = static_cast<float>(params.min_p.value_or(0));
  spec.sampling.top_k = static_cast<int32_t>(std::max<int64_t>(0, params.top_k.value_or(0)));
  spec.sampling.seed = params.seed.value_or(default_seed);
  spec.sampling.logprobs = static_cast<int32_t>(params.logprobs.value_or(-1));
  spec.sampling.prompt_logprobs = static_cast<int32_t>(params.prompt_logprobs.value_or(-1));
  spec.sampling.repetition_penalty = static_cast<float>(params.repetition_penalty.value_or(1));
  spec.sampling.presence_penalty = static_cast<float>(params.presence_penalty.value_or(0));
  spec.sampling.frequency_penalty = static_cast<float>(params.frequency_penalty.value_or(0));
  spec.sampling.min_tokens = static_cast<int32_t>(params.min_tokens.value_or(0));
  for (const auto& [token, bias] : params.logit_bias) {
    if (token < 0 || token >= model.tokenizer->vocab_size()) {
      return BadParam("logit_bias", absl::StrCat("token id ", token, " is outside [0, ",
                                                 model.tokenizer->vocab_size(), ")"));
    }
    spec.sampling.logit_bias.push_back(
        {.token = static_cast<int32_t>(token), .bias = static_cast<float>(bias)});
  }
  spec.cache_namespace = params.cache_salt;
  spec.max_tokens = static_cast<int32_t>(params.max_tokens.value_or(-1));
  spec.stop_strings = params.stop;
  spec.include_stop = params.include_stop;
  spec.skip_special = !params.keep_special;
  spec.priority = static_cast<int32_t>(params.priority.value_or(0));
  spec.arrival = request.arrival;
  spec.deadline = request.deadline;
  return spec;
}

}  // namespace shoal::router
