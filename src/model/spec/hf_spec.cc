// SPDX-License-Identifier: Apache-2.0
#include "model/spec/hf_spec.h"

#include <algorithm>
#include <cmath>
#include <string>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "base/status.h"
#include "model/spec/decoder_shape.h"
#include "model/spec/hf_families.h"
#include "model/spec/hf_json.h"

namespace shoal::model {
namespace {

// The row that the config asks for.
absl::StatusOr<const HfFamily*> FindHfFamily(const Json& config) {
  const Json* list = Find(config, "architectures");
  const Json* type = Find(config, "model_type");
  for (const HfFamily& family : HfFamilies()) {
    if (list != nullptr ? *list == Json::array({family.architecture})
                        : type != nullptr && *type == family.model_type) {
      return &family;
    }
  }
  const char* key = list != nullptr ? "architectures" : "model_type";
  const Json* value = list != nullptr ? list : type;
  return Bad(key, value == nullptr ? Json() : *value,
             absl::StrCat("built families: ", BuiltFamilies()));
}

struct Neutral {
  const char* key;
  std::vector<Json> values;  // that change nothing, beside absent and null
};

bool Reads(const HfFamily& family, absl::string_view key) {
  return std::find(family.keys.begin(), family.keys.end(), key) != family.keys.end();
}

// Keys that change the answer and of which, in families that do not read them, only the listed
// values are built.
absl::Status RefuseUnsupported(const Json& config, const HfFamily& family) {
  static const auto* const kTable = new std::vector<Neutral>{
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
      {"use_bidirectional_attention", {false}},
      {"slow_but_exact", {false}},
      {"add_cross_attention", {false}},
      {"is_encoder_decoder", {false}},
      {"no_rope_layers", {}},
      {"no_rope_layer_interval", {}},
  };
  for (const Neutral& row : *kTable) {
    const Json* value = Find(config, row.key);
    if (value == nullptr || Reads(family, row.key)) continue;
    if (std::find(row.values.begin(), row.values.end(), *value) == row.values.end()) {
      return Bad(row.key, *value, "not available yet");
    }
  }
  const Json* types = Find(config, "layer_types");
  if (types == nullptr || Reads(family, "layer_types")) return absl::OkStatus();
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
    SHOAL_ASSIGN_OR_RETURN(const HfFamily* const family, FindHfFamily(config));
    SHOAL_RETURN_IF_ERROR(RefuseUnsupported(config, *family));
    SHOAL_RETURN_IF_ERROR(CheckDtype(config));
    DecoderShape shape;
    shape.family = family->family;
    const Json* name = Find(config, "_name_or_path");
    if (name != nullptr && name->is_string()) shape.name = name->get<std::string>();
    SHOAL_RETURN_IF_ERROR(family->read(config, shape));
    ModelSpec spec = MakeSpec(shape);
    SHOAL_RETURN_IF_ERROR(ReadTokens(config, generation, spec));
    SHOAL_RETURN_IF_ERROR(Validate(spec));
    return spec;
  };
  absl::StatusOr<ModelSpec> spec = read();
  if (!spec.ok()) return Annotate(spec.status(), "config.json");
  return spec;
}

}  // namespace shoal::model
