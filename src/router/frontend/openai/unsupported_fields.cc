// SPDX-License-Identifier: Apache-2.0
#include "router/frontend/openai/unsupported_fields.h"

#include "router/api_error.h"

namespace shoal::router {
namespace {

using json = nlohmann::ordered_json;

bool IsZero(const json& v) { return v.is_number() && v.get<double>() == 0; }
bool IsOne(const json& v) { return v.is_number() && v.get<double>() == 1; }
bool IsNegative(const json& v) { return v.is_number() && v.get<double>() < 0; }
bool IsNotPositive(const json& v) { return v.is_number() && v.get<double>() <= 0; }
bool IsFalse(const json& v) { return v.is_boolean() && !v.get<bool>(); }
bool IsTrue(const json& v) { return v.is_boolean() && v.get<bool>(); }
bool IsEmpty(const json& v) { return (v.is_object() || v.is_array()) && v.empty(); }
bool IsEmptyText(const json& v) { return v.is_string() && v.get_ref<const std::string&>().empty(); }
bool IsTextFormat(const json& v) {
  return v.is_object() && v.contains("type") && v["type"] == "text";
}
bool IsTextOnly(const json& v) { return v.is_array() && v.size() == 1 && v.front() == "text"; }
bool IsAutoOrNone(const json& v) { return v == "auto" || v == "none"; }
bool IsNever(const json&) { return false; }

struct NeutralRule {
  const char* name;
  bool (*neutral)(const json&);
};

// What is sampled.
constexpr NeutralRule kSampling[] = {
    {"repeat_penalty", IsOne},
    {"length_penalty", IsOne},
    {"logits_processors", IsEmpty},
    {"custom_logit_processor", IsEmptyText},
    {"n_predict", IsNegative},
    {"typical_p", IsOne},
    {"top_a", IsZero},
    {"top_n_sigma", IsNotPositive},
    {"tfs_z", IsOne},
    {"mirostat", IsZero},
    {"dynatemp_range", IsZero},
    {"smoothing_factor", IsZero},
    {"epsilon_cutoff", IsZero},
    {"eta_cutoff", IsZero},
    {"xtc_probability", IsZero},
    {"dry_multiplier", IsZero},
    {"samplers", IsNever},
    {"watermark", IsFalse},
    {"use_beam_search", IsFalse},
    {"early_stopping", IsFalse},
    {"bad_words", IsEmpty},
    {"allowed_token_ids", IsNever},
    {"stop_regex", IsNever},
    {"lora", IsEmpty},
    {"lora_path", IsNever},
};

// Which answers are possible.
constexpr NeutralRule kConstraints[] = {
    {"response_format", IsTextFormat}, {"guided_json", IsNever},    {"guided_regex", IsNever},
    {"guided_choice", IsNever},        {"guided_grammar", IsNever}, {"structured_outputs", IsNever},
    {"json_schema", IsNever},          {"regex", IsNever},          {"ebnf", IsNever},
    {"grammar", IsEmptyText},          {"functions", IsEmpty},      {"function_call", IsAutoOrNone},
};

// What the model is told.
constexpr NeutralRule kInput[] = {
    {"suffix", IsEmptyText},
    {"truncate_prompt_tokens", IsNever},
    {"chat_template", IsNever},
    {"documents", IsEmpty},
    {"continue_final_message", IsFalse},
    {"enable_thinking", IsNever},
    {"thinking", IsNever},
    {"mm_processor_kwargs", IsEmpty},
    {"prediction", IsNever},
    {"web_search_options", IsNever},
    {"session_params", IsNever},
    {"kv_transfer_params", IsNever},
};

// What the answer shows.
constexpr NeutralRule kOutput[] = {
    {"prompt_logprobs", IsNever},
    {"n_probs", IsZero},
    {"return_token_ids", IsFalse},
    {"return_tokens", IsFalse},
    {"return_tokens_as_token_ids", IsFalse},
    {"return_hidden_states", IsFalse},
    {"post_sampling_probs", IsFalse},
    {"spaces_between_special_tokens", IsTrue},
    {"detokenize", IsTrue},
    {"no_stop_trim", IsFalse},
    {"modalities", IsTextOnly},
    {"audio", IsNever},
};

// In the other kind of request they have a meaning, or another neutral value.
constexpr NeutralRule kChatOnly[] = {{"echo", IsFalse}, {"add_special_tokens", IsFalse}};
constexpr NeutralRule kCompletionOnly[] = {{"add_special_tokens", IsTrue}};

template <size_t N>
void Refuse(Fields& fields, const NeutralRule (&rules)[N]) {
  for (const NeutralRule& rule : rules) {
    const json* value = fields.Find(rule.name);
    if (value != nullptr && !rule.neutral(*value)) fields.Fail(NotAvailableYet(rule.name));
  }
}

}  // namespace

void RefuseUnsupported(Fields& fields, bool chat) {
  Refuse(fields, kSampling);
  Refuse(fields, kConstraints);
  Refuse(fields, kInput);
  Refuse(fields, kOutput);
  if (chat) {
    Refuse(fields, kChatOnly);
  } else {
    Refuse(fields, kCompletionOnly);
  }
}

}  // namespace shoal::router
