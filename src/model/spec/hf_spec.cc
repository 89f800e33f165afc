// SPDX-License-Identifier: Apache-2.0
#include "model/spec/hf_spec.h"

#include <algorithm>
#include <cmath>
#include <string>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "base/status.h"
#include "model/spec/llama_shape.h"
#include "nlohmann/json.hpp"

namespace shoal::model {
namespace {

using Json = nlohmann::json;

constexpr int64_t kLayersMax = 4096;
constexpr int64_t kSizeMax = int64_t{1} << 28;

std::string Show(const Json& value) {
  return value.dump(-1, ' ', false, Json::error_handler_t::replace);
}

absl::Status Bad(absl::string_view key, const Json& value, absl::string_view rule) {
  return absl::InvalidArgumentError(absl::StrCat(key, " = ", Show(value), ": ", rule));
}

// nullptr when absent or null: both mean "the default" in this format.
const Json* Find(const Json& object, const char* key) {
  const auto it = object.find(key);
  return it == object.end() || it->is_null() ? nullptr : &*it;
}

absl::StatusOr<int64_t> ToSize(const char* key, const Json& value, int64_t max = kSizeMax) {
  const std::string rule = absl::StrCat("must be an integer in [1, ", max, "]");
  if (!value.is_number_integer()) return Bad(key, value, rule);
  if (value.is_number_unsigned() && value.get<uint64_t>() > static_cast<uint64_t>(max)) {
    return Bad(key, value, rule);
  }
  const auto number = value.get<int64_t>();
  if (number < 1 || number > max) return Bad(key, value, rule);
  return number;
}

absl::StatusOr<int64_t> Size(const Json& object, const char* key, int64_t max = kSizeMax) {
  const Json* value = Find(object, key);
  if (value == nullptr) return absl::InvalidArgumentError(absl::StrCat(key, " is absent"));
  return ToSize(key, *value, max);
}

absl::StatusOr<int64_t> SizeOr(const Json& object, const char* key, int64_t fallback) {
  const Json* value = Find(object, key);
  return value == nullptr ? fallback : ToSize(key, *value);
}

absl::StatusOr<double> NumberOr(const Json& object, const char* key, double fallback) {
  const Json* value = Find(object, key);
  if (value == nullptr) return fallback;
  if (!value->is_number()) return Bad(key, *value, "must be a number");
  return value->get<double>();
}

absl::StatusOr<bool> BoolOr(const Json& object, const char* key, bool fallback) {
  const Json* value = Find(object, key);
  if (value == nullptr) return fallback;
  if (!value->is_boolean()) return Bad(key, *value, "must be true or false");
  return value->get<bool>();
}

absl::StatusOr<Json> ParseObject(absl::string_view text, absl::string_view name) {
  Json json = Json::parse(text.begin(), text.end(), nullptr, /*allow_exceptions=*/false);
  if (json.is_discarded()) {
    return absl::InvalidArgumentError(absl::StrCat(name, " is not valid JSON"));
  }
  if (!json.is_object()) {
    return absl::InvalidArgumentError(absl::StrCat(name, " is not a JSON object"));
  }
  return json;
}

absl::Status CheckArchitecture(const Json& config) {
  const Json* list = Find(config, "architectures");
  if (list != nullptr) {
    if (*list == Json::array({"LlamaForCausalLM"})) return absl::OkStatus();
    return Bad("architectures", *list, absl::StrCat("built families: ", kBuiltFamilies));
  }
  const Json* type = Find(config, "model_type");
  if (type != nullptr && *type == "llama") return absl::OkStatus();
  return Bad("model_type", type == nullptr ? Json() : *type,
             absl::StrCat("built families: ", kBuiltFamilies));
}

struct Neutral {
  const char* key;
  std::vector<Json> values;  // that change nothing, beside absent and null
};

// Keys that change the answer and of which only the listed values are built.
absl::Status RefuseUnsupported(const Json& config) {
  const std::vector<Neutral> table = {
      {"hidden_act", {"silu", "swish"}},
      {"pretraining_tp", {0, 1}},
      {"quantization_config", {}},
      {"compression_config", {}},
      {"sliding_window", {0}},
      {"use_sliding_window", {false}},
      {"partial_rotary_factor", {1.0}},
      {"attn_logit_softcapping", {0.0}},
      {"final_logit_softcapping", {0.0}},
      {"attention_multiplier", {}},
      {"query_pre_attn_scalar", {}},
      {"embedding_multiplier", {1.0}},
      {"residual_multiplier", {1.0}},
      {"logits_scaling", {1.0}},
      {"logit_scale", {1.0}},
      {"use_qk_norm", {false}},
      {"qk_layernorm", {false}},
      {"clip_qkv", {}},
      {"parallel_residual", {false}},
      {"num_local_experts", {0, 1}},
      {"num_experts", {0, 1}},
      {"add_cross_attention", {false}},
      {"is_encoder_decoder", {false}},
      {"no_rope_layers", {}},
      {"no_rope_layer_interval", {}},
  };
  for (const Neutral& row : table) {
    const Json* value = Find(config, row.key);
    if (value == nullptr) continue;
    if (std::find(row.values.begin(), row.values.end(), *value) == row.values.end()) {
      return Bad(row.key, *value, "not available yet");
    }
  }
  const Json* types = Find(config, "layer_types");
  if (types == nullptr) return absl::OkStatus();
  if (!types->is_array()) return Bad("layer_types", *types, "must be a list");
  for (const Json& type : *types) {
    if (type != "full_attention") return Bad("layer_types", type, "not available yet");
  }
  return absl::OkStatus();
}

// "dtype" (transformers 5) or "torch_dtype" (4); only told apart to refuse what is no float type.
absl::Status CheckDtype(const Json& config) {
  for (const char* key : {"dtype", "torch_dtype"}) {
    const Json* value = Find(config, key);
    if (value == nullptr) continue;
    if (*value != "float32" && *value != "float16" && *value != "bfloat16" && *value != "auto") {
      return Bad(key, *value, "must be float32, float16 or bfloat16");
    }
  }
  return absl::OkStatus();
}

absl::StatusOr<std::string> RopeType(const Json& rope, const char* section) {
  for (const char* key : {"rope_type", "type"}) {
    const Json* value = Find(rope, key);
    if (value == nullptr) continue;
    const std::string name = absl::StrCat(section, ".", key);
    if (!value->is_string()) return Bad(name, *value, "must be a string");
    const auto type = value->get<std::string>();
    if (type == "default" || type == "linear" || type == "llama3") return type;
    return Bad(name, *value, "not available yet (default, linear, llama3)");
  }
  return std::string("default");
}

absl::StatusOr<double> RopeNumber(const Json& rope, const char* section, const char* key) {
  if (Find(rope, key) == nullptr) {
    return absl::InvalidArgumentError(absl::StrCat(section, ".", key, " is absent"));
  }
  auto number = NumberOr(rope, key, 0);
  if (!number.ok()) return Annotate(number.status(), section);
  return number;
}

absl::Status ReadLlama3(const Json& config, const Json& rope, const char* section, int64_t context,
                        RopeSpec& spec) {
  spec.kind = RopeKind::kLlama3;
  SHOAL_ASSIGN_OR_RETURN(spec.low_freq_factor, RopeNumber(rope, section, "low_freq_factor"));
  SHOAL_ASSIGN_OR_RETURN(spec.high_freq_factor, RopeNumber(rope, section, "high_freq_factor"));
  constexpr const char* kOriginal = "original_max_position_embeddings";
  SHOAL_ASSIGN_OR_RETURN(const int64_t inner, SizeOr(rope, kOriginal, context));
  SHOAL_ASSIGN_OR_RETURN(spec.original_context, SizeOr(config, kOriginal, inner));
  return absl::OkStatus();
}

absl::StatusOr<RopeSpec> ReadRope(const Json& config, int64_t head_dim, int64_t context) {
  RopeSpec spec;
  spec.rotary_dim = head_dim;
  SHOAL_ASSIGN_OR_RETURN(spec.theta, NumberOr(config, "rope_theta", 10000));
  for (const char* section : {"rope_parameters", "rope_scaling"}) {
    const Json* rope = Find(config, section);
    if (rope == nullptr) continue;
    if (!rope->is_object()) return Bad(section, *rope, "must be an object");
    SHOAL_ASSIGN_OR_RETURN(spec.theta, NumberOr(*rope, "rope_theta", spec.theta));
    SHOAL_ASSIGN_OR_RETURN(const double partial, NumberOr(*rope, "partial_rotary_factor", 1));
    if (partial != 1) {
      return Bad(absl::StrCat(section, ".partial_rotary_factor"), partial, "not available yet");
    }
    SHOAL_ASSIGN_OR_RETURN(const std::string type, RopeType(*rope, section));
    if (type == "default") return spec;
    SHOAL_ASSIGN_OR_RETURN(spec.factor, RopeNumber(*rope, section, "factor"));
    spec.kind = RopeKind::kLinear;
    if (type == "llama3") {
      SHOAL_RETURN_IF_ERROR(ReadLlama3(config, *rope, section, context, spec));
    }
    return spec;
  }
  return spec;
}

absl::StatusOr<LlamaShape> ReadShape(const Json& config) {
  LlamaShape shape;
  SHOAL_ASSIGN_OR_RETURN(shape.vocab_size, Size(config, "vocab_size"));
  SHOAL_ASSIGN_OR_RETURN(shape.hidden, Size(config, "hidden_size"));
  SHOAL_ASSIGN_OR_RETURN(shape.layers, Size(config, "num_hidden_layers", kLayersMax));
  SHOAL_ASSIGN_OR_RETURN(shape.intermediate, Size(config, "intermediate_size"));
  SHOAL_ASSIGN_OR_RETURN(shape.query_heads, Size(config, "num_attention_heads"));
  SHOAL_ASSIGN_OR_RETURN(shape.kv_heads, SizeOr(config, "num_key_value_heads", shape.query_heads));
  if (Find(config, "head_dim") == nullptr && shape.hidden % shape.query_heads != 0) {
    return absl::InvalidArgumentError(absl::StrCat("hidden_size ", shape.hidden,
                                                   " is not a multiple of num_attention_heads ",
                                                   shape.query_heads, " and head_dim is absent"));
  }
  SHOAL_ASSIGN_OR_RETURN(shape.head_dim,
                         SizeOr(config, "head_dim", shape.hidden / shape.query_heads));
  SHOAL_ASSIGN_OR_RETURN(shape.context, SizeOr(config, "max_position_embeddings", 2048));
  SHOAL_ASSIGN_OR_RETURN(shape.norm_eps, NumberOr(config, "rms_norm_eps", 1e-6));
  SHOAL_ASSIGN_OR_RETURN(shape.attention_bias, BoolOr(config, "attention_bias", false));
  shape.out_bias = shape.attention_bias;
  SHOAL_ASSIGN_OR_RETURN(shape.mlp_bias, BoolOr(config, "mlp_bias", false));
  SHOAL_ASSIGN_OR_RETURN(shape.tied_head, BoolOr(config, "tie_word_embeddings", false));
  SHOAL_ASSIGN_OR_RETURN(shape.rope, ReadRope(config, shape.head_dim, shape.context));
  const Json* name = Find(config, "_name_or_path");
  if (name != nullptr && name->is_string()) shape.name = name->get<std::string>();
  return shape;
}

// An id, or a list of ids.
absl::StatusOr<std::vector<int32_t>> TokenIds(const char* key, const Json& value, int64_t vocab) {
  const Json list = value.is_array() ? value : Json::array({value});
  std::vector<int32_t> ids;
  for (const Json& item : list) {
    if (!item.is_number_integer() || item < 0 || item >= vocab) {
      return Bad(key, value, absl::StrCat("must be token ids below vocab_size ", vocab));
    }
    const auto id = item.get<int32_t>();
    if (std::find(ids.begin(), ids.end(), id) == ids.end()) ids.push_back(id);
  }
  return ids;
}

absl::Status ReadTokens(const Json& config, const Json& generation, ModelSpec& spec) {
  const auto stated = [&](const char* key) {
    const Json* value = Find(generation, key);
    return value != nullptr ? value : Find(config, key);
  };
  if (const Json* bos = stated("bos_token_id"); bos != nullptr) {
    SHOAL_ASSIGN_OR_RETURN(const std::vector<int32_t> ids,
                           TokenIds("bos_token_id", *bos, spec.vocab_size));
    if (ids.size() != 1) return Bad("bos_token_id", *bos, "must be one token id");
    spec.bos_token = ids[0];
  }
  if (const Json* eos = stated("eos_token_id"); eos != nullptr) {
    SHOAL_ASSIGN_OR_RETURN(spec.eos_tokens, TokenIds("eos_token_id", *eos, spec.vocab_size));
  }
  return absl::OkStatus();
}

}  // namespace

absl::StatusOr<ModelSpec> SpecFromHfConfig(absl::string_view config_text,
                                           absl::string_view generation_text) {
  SHOAL_ASSIGN_OR_RETURN(const Json config, ParseObject(config_text, "config.json"));
  Json generation = Json::object();
  if (!generation_text.empty()) {
    SHOAL_ASSIGN_OR_RETURN(generation, ParseObject(generation_text, "generation_config.json"));
  }
  const auto read = [&]() -> absl::StatusOr<ModelSpec> {
    SHOAL_RETURN_IF_ERROR(CheckArchitecture(config));
    SHOAL_RETURN_IF_ERROR(RefuseUnsupported(config));
    SHOAL_RETURN_IF_ERROR(CheckDtype(config));
    SHOAL_ASSIGN_OR_RETURN(const LlamaShape shape, ReadShape(config));
    ModelSpec spec = MakeLlamaSpec(shape);
    SHOAL_RETURN_IF_ERROR(ReadTokens(config, generation, spec));
    SHOAL_RETURN_IF_ERROR(Validate(spec));
    return spec;
  };
  absl::StatusOr<ModelSpec> spec = read();
  if (!spec.ok()) return Annotate(spec.status(), "config.json");
  return spec;
}

}  // namespace shoal::model
