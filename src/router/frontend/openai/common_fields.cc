// SPDX-License-Identifier: Apache-2.0
#include "router/frontend/openai/common_fields.h"

#include "router/api_error.h"

namespace shoal::router {
namespace {

using json = nlohmann::ordered_json;

bool IsZero(const json& v) { return v.is_number() && v.get<double>() == 0; }
bool IsOne(const json& v) { return v.is_number() && v.get<double>() == 1; }
bool IsFalse(const json& v) { return v.is_boolean() && !v.get<bool>(); }
bool IsEmpty(const json& v) { return (v.is_object() || v.is_array()) && v.empty(); }
bool IsEmptyText(const json& v) { return v.is_string() && v.get_ref<const std::string&>().empty(); }
bool IsTextFormat(const json& v) {
  return v.is_object() && v.contains("type") && v["type"] == "text";
}
bool IsNever(const json&) { return false; }

// Fields that would change the answer and are not built: only the value that means "as without it"
// is let through.
struct NeutralRule {
  const char* name;
  bool (*neutral)(const json&);
};

constexpr NeutralRule kNotBuilt[] = {
    {"presence_penalty", IsZero},
    {"frequency_penalty", IsZero},
    {"repetition_penalty", IsOne},
    {"length_penalty", IsOne},
    {"logit_bias", IsEmpty},
    {"response_format", IsTextFormat},
    {"suffix", IsEmptyText},
    {"min_tokens", IsZero},
    {"typical_p", IsOne},
    {"use_beam_search", IsFalse},
    {"continue_final_message", IsFalse},
    {"functions", IsEmpty},
    {"guided_json", IsNever},
    {"guided_regex", IsNever},
    {"guided_choice", IsNever},
    {"guided_grammar", IsNever},
    {"structured_outputs", IsNever},
    {"json_schema", IsNever},
    {"grammar", IsEmptyText},
    {"bad_words", IsEmpty},
    {"allowed_token_ids", IsNever},
    {"audio", IsNever},
    {"prediction", IsNever},
    {"web_search_options", IsNever},
    {"kv_transfer_params", IsNever},
};

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
  params.top_k = fields.Integer("top_k");
  params.n = fields.Integer("n");
  params.seed = fields.Seed("seed");
  params.priority = fields.Integer("priority");
  params.stop = fields.Strings("stop");
  params.stop_token_ids = fields.Integers("stop_token_ids");
  params.ignore_eos = fields.Bool("ignore_eos").value_or(false);
  params.include_stop = fields.Bool("include_stop_str_in_output").value_or(false);
  params.keep_special = !fields.Bool("skip_special_tokens").value_or(true);
  if (fields.Bool("return_token_ids").value_or(false)) {
    fields.Fail(NotAvailableYet("return_token_ids"));
  }
  const std::optional<int64_t> best_of = fields.Integer("best_of");
  if (best_of.has_value() && *best_of != 1 && *best_of != params.n.value_or(1)) {
    fields.Fail(NotAvailableYet("best_of"));
  }
  for (const NeutralRule& rule : kNotBuilt) {
    const json* value = fields.Find(rule.name);
    if (value != nullptr && !rule.neutral(*value)) fields.Fail(NotAvailableYet(rule.name));
  }
}

}  // namespace shoal::router
