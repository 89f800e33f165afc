// SPDX-License-Identifier: Apache-2.0
#include "model/spec/hf_families.h"

#include <cmath>
#include <cstring>
#include <string>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "base/status.h"
#include "model/spec/hf_rope.h"
#include "model/spec/rounding.h"

namespace shoal::model {
namespace {

constexpr int64_t kLayersMax = 4096;

// Where the families' defaults differ.
struct Defaults {
  int64_t head_dim = 0;  // 0: hidden / heads
  int64_t context = 2048;
  bool tied_head = false;
};

absl::Status ReadSizes(const Json& config, const Defaults& defaults, DecoderShape& shape) {
  SHOAL_ASSIGN_OR_RETURN(shape.vocab_size, Size(config, "vocab_size"));
  SHOAL_ASSIGN_OR_RETURN(shape.hidden, Size(config, "hidden_size"));
  SHOAL_ASSIGN_OR_RETURN(shape.layers, Size(config, "num_hidden_layers", kLayersMax));
  SHOAL_ASSIGN_OR_RETURN(shape.intermediate, Size(config, "intermediate_size"));
  SHOAL_ASSIGN_OR_RETURN(shape.query_heads, Size(config, "num_attention_heads"));
  SHOAL_ASSIGN_OR_RETURN(shape.kv_heads, SizeOr(config, "num_key_value_heads", shape.query_heads));
  const int64_t quotient = shape.hidden / shape.query_heads;
  const bool stated = Find(config, "head_dim") != nullptr || defaults.head_dim != 0;
  if (!stated && shape.hidden % shape.query_heads != 0) {
    return absl::InvalidArgumentError(absl::StrCat("hidden_size ", shape.hidden,
                                                   " is not a multiple of num_attention_heads ",
                                                   shape.query_heads, " and head_dim is absent"));
  }
  SHOAL_ASSIGN_OR_RETURN(
      shape.head_dim,
      SizeOr(config, "head_dim", defaults.head_dim != 0 ? defaults.head_dim : quotient));
  SHOAL_ASSIGN_OR_RETURN(shape.context,
                         SizeOr(config, "max_position_embeddings", defaults.context));
  SHOAL_ASSIGN_OR_RETURN(shape.norm_eps, NumberOr(config, "rms_norm_eps", 1e-6));
  SHOAL_ASSIGN_OR_RETURN(shape.tied_head,
                         BoolOr(config, "tie_word_embeddings", defaults.tied_head));
  return absl::OkStatus();
}

absl::Status ReadRope(const Json& config, DecoderShape& shape) {
  SHOAL_ASSIGN_OR_RETURN(
      shape.rope, ReadHfRope(config, {.head_dim = shape.head_dim, .context = shape.context}));
  return absl::OkStatus();
}

// `layer_types`: one of the two words per layer; marks the sliding ones. False where it is absent.
absl::StatusOr<bool> ReadLayerTypes(const Json& config, DecoderShape& shape) {
  const Json* types = Find(config, "layer_types");
  if (types == nullptr) return false;
  if (!types->is_array() || static_cast<int64_t>(types->size()) != shape.layers) {
    return Bad("layer_types", *types, "must list one type per layer");
  }
  shape.slides.clear();
  for (const Json& type : *types) {
    if (type != "full_attention" && type != "sliding_attention") {
      return Bad("layer_types", type, "not available yet");
    }
    shape.slides.push_back(type == "sliding_attention");
  }
  return true;
}

// "sliding_window": absent means `fallback`, null none.
absl::StatusOr<int64_t> Window(const Json& config, int64_t fallback) {
  const auto it = config.find("sliding_window");
  if (it == config.end()) return fallback;
  if (it->is_null() || *it == 0) return 0;
  return Size(config, "sliding_window");
}

absl::Status ReadLlama(const Json& config, DecoderShape& shape) {
  SHOAL_RETURN_IF_ERROR(ReadSizes(config, {}, shape));
  SHOAL_ASSIGN_OR_RETURN(shape.attention_bias, BoolOr(config, "attention_bias", false));
  shape.out_bias = shape.attention_bias;
  SHOAL_ASSIGN_OR_RETURN(shape.mlp_bias, BoolOr(config, "mlp_bias", false));
  return ReadRope(config, shape);
}

absl::Status ReadMistral(const Json& config, DecoderShape& shape) {
  SHOAL_RETURN_IF_ERROR(ReadSizes(config, {.context = 131072}, shape));
  SHOAL_ASSIGN_OR_RETURN(shape.window, Window(config, 4096));
  return ReadRope(config, shape);
}

// Layers slide only with use_sliding_window, and from max_window_layers on.
absl::Status ReadQwenWindow(const Json& config, DecoderShape& shape) {
  SHOAL_ASSIGN_OR_RETURN(const bool use, BoolOr(config, "use_sliding_window", false));
  if (!use) {
    SHOAL_ASSIGN_OR_RETURN(const bool listed, ReadLayerTypes(config, shape));
    if (!listed) return absl::OkStatus();
    for (const bool slides : shape.slides) {
      if (slides) {
        return Bad("layer_types", *Find(config, "layer_types"),
                   "slides although use_sliding_window is false");
      }
    }
    return absl::OkStatus();
  }
  SHOAL_ASSIGN_OR_RETURN(shape.window, Window(config, 4096));
  SHOAL_ASSIGN_OR_RETURN(const bool listed, ReadLayerTypes(config, shape));
  if (listed) return absl::OkStatus();
  const Json* first = Find(config, "max_window_layers");
  if (first != nullptr && (!first->is_number_integer() || *first < 0)) {
    return Bad("max_window_layers", *first, "must be an integer, not negative");
  }
  const int64_t border = first == nullptr ? 28 : first->get<int64_t>();
  for (int64_t i = 0; i < shape.layers; ++i) shape.slides.push_back(i >= border);
  return absl::OkStatus();
}

absl::Status ReadQwen2(const Json& config, DecoderShape& shape) {
  SHOAL_RETURN_IF_ERROR(ReadSizes(config, {.context = 32768}, shape));
  shape.attention_bias = true;  // no key says so
  SHOAL_RETURN_IF_ERROR(ReadQwenWindow(config, shape));
  return ReadRope(config, shape);
}

absl::Status ReadQwen3(const Json& config, DecoderShape& shape) {
  SHOAL_RETURN_IF_ERROR(ReadSizes(config, {.head_dim = 128, .context = 32768}, shape));
  SHOAL_ASSIGN_OR_RETURN(shape.attention_bias, BoolOr(config, "attention_bias", false));
  shape.out_bias = shape.attention_bias;
  shape.qk_norm = true;
  SHOAL_RETURN_IF_ERROR(ReadQwenWindow(config, shape));
  return ReadRope(config, shape);
}

absl::Status ReadPhi3(const Json& config, DecoderShape& shape) {
  SHOAL_RETURN_IF_ERROR(ReadSizes(config, {.context = 4096}, shape));
  SHOAL_ASSIGN_OR_RETURN(shape.window, Window(config, 0));
  SHOAL_ASSIGN_OR_RETURN(shape.rope, ReadHfRope(config, {.head_dim = shape.head_dim,
                                                         .context = shape.context,
                                                         .partial = true,
                                                         .phi3 = true}));
  return absl::OkStatus();
}

absl::Status ReadGemma3Layers(const Json& config, DecoderShape& shape) {
  SHOAL_ASSIGN_OR_RETURN(shape.window, Window(config, 4096));
  if (shape.window == 0) return Bad("sliding_window", Json(), "must be a window");
  SHOAL_ASSIGN_OR_RETURN(const bool listed, ReadLayerTypes(config, shape));
  if (!listed) {
    SHOAL_ASSIGN_OR_RETURN(const int64_t inner, SizeOr(config, "_sliding_window_pattern", 6));
    SHOAL_ASSIGN_OR_RETURN(const int64_t period, SizeOr(config, "sliding_window_pattern", inner));
    for (int64_t i = 0; i < shape.layers; ++i) shape.slides.push_back((i + 1) % period != 0);
  }
  RopeContext rope{.head_dim = shape.head_dim,
                   .context = shape.context,
                   .theta = 1e6,
                   .layer_type = "full_attention"};
  SHOAL_ASSIGN_OR_RETURN(shape.rope, ReadHfRope(config, rope));
  SHOAL_ASSIGN_OR_RETURN(rope.theta, NumberOr(config, "rope_local_base_freq", 10000));
  rope.layer_type = "sliding_attention";
  rope.local = true;
  shape.has_local_rope = true;
  SHOAL_ASSIGN_OR_RETURN(shape.local_rope, ReadHfRope(config, rope));
  return absl::OkStatus();
}

// A softcap: absent, null and 0 mean none.
absl::StatusOr<float> ReadSoftcap(const Json& config, const char* key) {
  SHOAL_ASSIGN_OR_RETURN(const double cap, NumberOr(config, key, 0));
  return static_cast<float>(cap);
}

absl::Status ReadGemma3(const Json& config, DecoderShape& shape) {
  SHOAL_RETURN_IF_ERROR(
      ReadSizes(config, {.head_dim = 256, .context = 131072, .tied_head = true}, shape));
  for (const char* key : {"hidden_activation", "hidden_act"}) {
    const Json* value = Find(config, key);
    if (value != nullptr && *value != "gelu_pytorch_tanh") {
      return Bad(key, *value, "not available yet (gelu_pytorch_tanh)");
    }
  }
  shape.activation = MlpActivation::kGeluTanh;
  shape.qk_norm = true;
  shape.post_norms = true;
  shape.norm_offset = 1;
  SHOAL_ASSIGN_OR_RETURN(shape.attention_bias, BoolOr(config, "attention_bias", false));
  shape.out_bias = shape.attention_bias;
  SHOAL_ASSIGN_OR_RETURN(const double scalar, NumberOr(config, "query_pre_attn_scalar", 256));
  if (!(scalar > 0)) return Bad("query_pre_attn_scalar", scalar, "must be positive");
  shape.attention_scale = 1.0 / std::sqrt(scalar);
  SHOAL_ASSIGN_OR_RETURN(shape.softcap, ReadSoftcap(config, "attn_logit_softcapping"));
  SHOAL_ASSIGN_OR_RETURN(shape.final_softcap, ReadSoftcap(config, "final_logit_softcapping"));
  const auto root = static_cast<float>(std::sqrt(static_cast<double>(shape.hidden)));
  shape.embedding_scale = root;
  for (const char* key : {"torch_dtype", "dtype"}) {  // the second wins
    const Json* dtype = Find(config, key);
    if (dtype != nullptr && dtype->is_string()) {
      shape.embedding_scale = RoundToDtype(root, dtype->get<std::string>());
    }
  }
  return ReadGemma3Layers(config, shape);
}

absl::Status ReadBloom(const Json& config, DecoderShape& shape) {
  SHOAL_ASSIGN_OR_RETURN(shape.vocab_size, Size(config, "vocab_size"));
  const char* hidden = Find(config, "n_embed") != nullptr ? "n_embed" : "hidden_size";
  SHOAL_ASSIGN_OR_RETURN(shape.hidden, Size(config, hidden));
  const char* layers = Find(config, "n_layer") != nullptr ? "n_layer" : "num_hidden_layers";
  SHOAL_ASSIGN_OR_RETURN(shape.layers, Size(config, layers, kLayersMax));
  const char* heads = Find(config, "n_head") != nullptr ? "n_head" : "num_attention_heads";
  SHOAL_ASSIGN_OR_RETURN(shape.query_heads, Size(config, heads));
  shape.kv_heads = shape.query_heads;
  if (shape.hidden % shape.query_heads != 0) {
    return absl::InvalidArgumentError(absl::StrCat(
        hidden, " ", shape.hidden, " is not a multiple of ", heads, " ", shape.query_heads));
  }
  shape.head_dim = shape.hidden / shape.query_heads;
  shape.intermediate = 4 * shape.hidden;
  SHOAL_ASSIGN_OR_RETURN(shape.context, SizeOr(config, "seq_length", 2048));
  SHOAL_ASSIGN_OR_RETURN(shape.norm_eps, NumberOr(config, "layer_norm_epsilon", 1e-5));
  SHOAL_ASSIGN_OR_RETURN(shape.tied_head, BoolOr(config, "tie_word_embeddings", true));
  SHOAL_ASSIGN_OR_RETURN(const bool post,
                         BoolOr(config, "apply_residual_connection_post_layernorm", false));
  if (post) return Bad("apply_residual_connection_post_layernorm", post, "not available yet");
  SetBloom(shape);
  return absl::OkStatus();
}

}  // namespace

const std::vector<HfFamily>& HfFamilies() {
  static const auto* const kFamilies = new std::vector<HfFamily>{
      {"LlamaForCausalLM", "llama", "llama", ReadLlama, {}},
      {"MistralForCausalLM", "mistral", "mistral", ReadMistral, {"sliding_window"}},
      {"Qwen2ForCausalLM",
       "qwen2",
       "qwen2",
       ReadQwen2,
       {"sliding_window", "use_sliding_window", "layer_types"}},
      {"Qwen3ForCausalLM",
       "qwen3",
       "qwen3",
       ReadQwen3,
       {"sliding_window", "use_sliding_window", "layer_types"}},
      {"Phi3ForCausalLM", "phi3", "phi3", ReadPhi3, {"sliding_window", "partial_rotary_factor"}},
      {"Gemma3ForCausalLM",
       "gemma3_text",
       "gemma3",
       ReadGemma3,
       {"hidden_act", "sliding_window", "layer_types", "query_pre_attn_scalar",
        "attn_logit_softcapping", "final_logit_softcapping"}},
      {"BloomForCausalLM", "bloom", "bloom", ReadBloom, {}},
  };
  return *kFamilies;
}

std::string BuiltFamilies() {
  std::vector<std::string> names;
  for (const HfFamily& family : HfFamilies()) {
    names.push_back(absl::StrCat(family.family, " (", family.architecture, ")"));
  }
  return absl::StrJoin(names, ", ");
}

}  // namespace shoal::model
