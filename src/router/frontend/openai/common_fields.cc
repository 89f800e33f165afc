// SPDX-License-Identifier: Apache-2.0
#include "router/frontend/openai/common_fields.h"

#include "absl/strings/numbers.h"
#include "router/api_error.h"
#include "router/frontend/openai/unsupported_fields.h"

namespace shoal::router {
namespace {

using json = nlohmann::ordered_json;

void ReadStreaming(Fields& fields, OpenAiRequest& out) {
  out.stream = fields.Bool("stream").value_or(false);
  const json* options = fields.Find("stream_options");
  if (options == nullptr) return;
  if (!options->is_object()) {
    fields.Fail("stream_options", "must be an object");
    return;
  }
  if (!out.stream) {
    fields.Fail("stream_options", "is only allowed when stream is true");
    return;
  }
  Fields inner(*options);
  out.include_usage = inner.Bool("include_usage").value_or(false);
  if (inner.Bool("continuous_usage_stats").value_or(false)) {
    fields.Fail(NotAvailableYet("stream_options.continuous_usage_stats"));
  }
  if (!inner.status().ok()) {
    fields.Fail("stream_options", std::string(inner.status().message()));
  }
}

// An object from token ids, which JSON makes strings, to numbers.
void ReadLogitBias(Fields& fields, GenerationParams& params) {
  const json* object = fields.Find("logit_bias");
  if (object == nullptr) return;
  if (!object->is_object()) {
    fields.Fail("logit_bias", "must be an object of token ids and numbers");
    return;
  }
  for (const auto& [key, value] : object->items()) {
    int64_t token = 0;
    if (!absl::SimpleAtoi(key, &token) || !value.is_number()) {
      fields.Fail("logit_bias", "must be an object of token ids and numbers");
      return;
    }
    params.logit_bias.emplace_back(token, value.get<double>());
  }
}

void ReadMaxTokens(Fields& fields, OpenAiRequest& out) {
  const std::optional<int64_t> old_name = fields.Integer("max_tokens");
  const std::optional<int64_t> new_name = fields.Integer("max_completion_tokens");
  if (old_name.has_value() && new_name.has_value() && *old_name != *new_name) {
    fields.Fail("max_completion_tokens", "differs from max_tokens; give one of them");
  }
  out.generation.params.max_tokens = new_name.has_value() ? new_name : old_name;
}

}  // namespace

void ReadCommon(Fields& fields, OpenAiRequest& out) {
  GenerationParams& params = out.generation.params;
  const std::optional<std::string> model = fields.String("model");
  if (!model.has_value()) fields.Fail("model", "is required");
  out.generation.model = model.value_or("");
  ReadStreaming(fields, out);
  ReadMaxTokens(fields, out);
  params.temperature = fields.Number("temperature");
  params.top_p = fields.Number("top_p");
  params.min_p = fields.Number("min_p");
  params.repetition_penalty = fields.Number("repetition_penalty");
  params.presence_penalty = fields.Number("presence_penalty");
  params.frequency_penalty = fields.Number("frequency_penalty");
  params.min_tokens = fields.Integer("min_tokens");
  params.cache_salt = fields.String("cache_salt").value_or("");
  ReadLogitBias(fields, params);
  params.top_k = fields.Integer("top_k");
  params.n = fields.Integer("n");
  params.seed = fields.Seed("seed");
  params.priority = fields.Integer("priority");
  params.stop = fields.Strings("stop");
  params.stop_token_ids = fields.Integers("stop_token_ids");
  params.ignore_eos = fields.Bool("ignore_eos").value_or(false);
  params.include_stop = fields.Bool("include_stop_str_in_output").value_or(false);
  params.keep_special = !fields.Bool("skip_special_tokens").value_or(true);
  const std::optional<int64_t> best_of = fields.Integer("best_of");
  if (best_of.has_value() && *best_of != 1 && *best_of != params.n.value_or(1)) {
    fields.Fail(NotAvailableYet("best_of"));
  }
  RefuseUnsupported(fields, out.generation.chat);
}

}  // namespace shoal::router
