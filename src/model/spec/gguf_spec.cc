// SPDX-License-Identifier: Apache-2.0
#include "model/spec/gguf_spec.h"

#include <algorithm>
#include <cmath>
#include <string>
#include <vector>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "base/status.h"
#include "model/spec/decoder_shape.h"
#include "model/spec/gguf_keys.h"
#include "model/spec/gguf_rope.h"
#include "model/spec/hf_families.h"

namespace shoal::model {
namespace {

using gguf::GgufFile;

constexpr int64_t kLayersMax = 4096;

struct Neutral {
  const char* name;  // without the architecture's prefix
  double value;      // the only one that changes nothing
};

// Keys that change the answer and that no architecture without a reader for them supports.
constexpr Neutral kNeutralOnly[] = {
    {"expert_count", 0},
    {"expert_used_count", 0},
    {"attention.sliding_window", 0},
    {"attention.max_alibi_bias", 0},
    {"attention.clamp_kqv", 0},
    {"attention.scale", 0},
    {"attn_logit_softcapping", 0},
    {"final_logit_softcapping", 0},
    {"logit_scale", 0},
    {"residual_scale", 0},
    {"embedding_scale", 0},
    {"use_parallel_residual", 0},
    {"attention.causal", 1},
    {"rope.scale_linear", 1},
};

absl::StatusOr<int64_t> HeadDim(const GgufKeys& keys, int64_t hidden, int64_t query_heads) {
  const bool stated = keys.Has("attention.key_length");
  if (!stated && hidden % query_heads != 0) {
    return absl::InvalidArgumentError(
        absl::StrCat(keys.Key("embedding_length "), hidden, " is not a multiple of ",
                     keys.Key("attention.head_count "), query_heads, " and ",
                     keys.Key("attention.key_length"), " is absent"));
  }
  SHOAL_ASSIGN_OR_RETURN(const int64_t key_length,
                         keys.SizeOr("attention.key_length", hidden / query_heads));
  SHOAL_ASSIGN_OR_RETURN(const int64_t value_length,
                         keys.SizeOr("attention.value_length", hidden / query_heads));
  if (key_length != value_length) {
    return absl::InvalidArgumentError(absl::StrCat(
        keys.Key("attention.value_length "), value_length, " differs from ",
        keys.Key("attention.key_length "), key_length, ", which is not available yet"));
  }
  return key_length;
}

absl::StatusOr<int64_t> VocabularySize(const GgufKeys& keys) {
  if (keys.Has("vocab_size")) return keys.Size("vocab_size");
  const gguf::TensorInfo* table = keys.file().FindTensor("token_embd.weight");
  if (table == nullptr || table->shape.size() != 2) {
    return absl::InvalidArgumentError(
        absl::StrCat(keys.Key("vocab_size"), " is absent and token_embd.weight does not tell it"));
  }
  return table->shape[0];
}

absl::Status ReadSizes(const GgufKeys& keys, DecoderShape& shape) {
  SHOAL_ASSIGN_OR_RETURN(shape.layers, keys.Size("block_count", kLayersMax));
  SHOAL_ASSIGN_OR_RETURN(shape.hidden, keys.Size("embedding_length"));
  SHOAL_ASSIGN_OR_RETURN(shape.intermediate, keys.UniformSize("feed_forward_length"));
  SHOAL_ASSIGN_OR_RETURN(shape.query_heads, keys.UniformSize("attention.head_count"));
  shape.kv_heads = shape.query_heads;
  if (keys.Has("attention.head_count_kv")) {
    SHOAL_ASSIGN_OR_RETURN(shape.kv_heads, keys.UniformSize("attention.head_count_kv"));
  }
  SHOAL_ASSIGN_OR_RETURN(shape.head_dim, HeadDim(keys, shape.hidden, shape.query_heads));
  SHOAL_ASSIGN_OR_RETURN(shape.context, keys.Size("context_length"));
  SHOAL_ASSIGN_OR_RETURN(shape.vocab_size, VocabularySize(keys));
  shape.tied_head = !keys.HasTensor("output.weight");
  const auto name = keys.file().GetString("general.name");
  if (name.ok()) shape.name = *name;
  return absl::OkStatus();
}

absl::Status ReadWindow(const GgufKeys& keys, DecoderShape& shape) {
  SHOAL_ASSIGN_OR_RETURN(const double window, keys.NumberOr("attention.sliding_window", 0));
  if (window == 0) return absl::OkStatus();
  SHOAL_ASSIGN_OR_RETURN(shape.window, keys.Size("attention.sliding_window"));
  return absl::OkStatus();
}

// What the Llama-like architectures share; `interleaved` as ReadGgufRope says.
absl::Status ReadCommon(const GgufKeys& keys, bool interleaved, DecoderShape& shape) {
  SHOAL_RETURN_IF_ERROR(ReadSizes(keys, shape));
  SHOAL_ASSIGN_OR_RETURN(shape.norm_eps, keys.Number("attention.layer_norm_rms_epsilon"));
  SHOAL_ASSIGN_OR_RETURN(shape.rope,
                         ReadGgufRope(keys, shape.head_dim, shape.context, interleaved));
  shape.attention_bias =
      keys.HasTensor("blk.0.attn_q.bias") || keys.HasTensor("blk.0.attn_qkv.bias");
  shape.out_bias = keys.HasTensor("blk.0.attn_output.bias");
  shape.mlp_bias = keys.HasTensor("blk.0.ffn_down.bias");
  return absl::OkStatus();
}

// Also Mistral's; its window is that of all layers.
absl::Status ReadLlama(const GgufKeys& keys, DecoderShape& shape) {
  SHOAL_RETURN_IF_ERROR(ReadWindow(keys, shape));
  return ReadCommon(keys, /*interleaved=*/true, shape);
}

absl::Status ReadQwen2(const GgufKeys& keys, DecoderShape& shape) {
  return ReadCommon(keys, /*interleaved=*/false, shape);
}

absl::Status ReadQwen3(const GgufKeys& keys, DecoderShape& shape) {
  shape.qk_norm = true;
  return ReadCommon(keys, /*interleaved=*/false, shape);
}

absl::Status ReadPhi3(const GgufKeys& keys, DecoderShape& shape) {
  SHOAL_RETURN_IF_ERROR(ReadWindow(keys, shape));
  return ReadCommon(keys, /*interleaved=*/false, shape);
}

// The format leaves to the reader what the family fixes: every sixth layer attends to everything,
// the others rotate with base 10000 unscaled, and the largest model divides by hidden / heads.
absl::Status ReadGemma3(const GgufKeys& keys, DecoderShape& shape) {
  constexpr int64_t kLayersOfTheLargest = 62;
  SHOAL_RETURN_IF_ERROR(ReadCommon(keys, /*interleaved=*/false, shape));
  shape.window = 0;
  SHOAL_ASSIGN_OR_RETURN(shape.window, keys.Size("attention.sliding_window"));
  SHOAL_ASSIGN_OR_RETURN(const int64_t period, keys.SizeOr("attention.sliding_window_pattern", 6));
  for (int64_t i = 0; i < shape.layers; ++i) shape.slides.push_back((i + 1) % period != 0);
  if (!keys.Has("rope.freq_base")) shape.rope.theta = 1e6;
  shape.has_local_rope = true;
  shape.local_rope = RopeSpec{.kind = RopeKind::kPlain, .rotary_dim = shape.rope.rotary_dim};
  SHOAL_ASSIGN_OR_RETURN(shape.local_rope.theta, keys.NumberOr("rope.freq_base_swa", 10000));
  const int64_t divisor =
      shape.layers == kLayersOfTheLargest ? shape.hidden / shape.query_heads : shape.head_dim;
  shape.attention_scale = 1.0 / std::sqrt(static_cast<double>(divisor));
  SHOAL_ASSIGN_OR_RETURN(const double softcap, keys.NumberOr("attn_logit_softcapping", 0));
  SHOAL_ASSIGN_OR_RETURN(const double final_softcap, keys.NumberOr("final_logit_softcapping", 0));
  shape.softcap = static_cast<float>(softcap);
  shape.final_softcap = static_cast<float>(final_softcap);
  shape.activation = MlpActivation::kGeluTanh;
  shape.qk_norm = true;
  shape.post_norms = true;  // the file's weights are 1 + w already
  shape.embedding_scale = static_cast<float>(std::sqrt(static_cast<double>(shape.hidden)));
  return absl::OkStatus();
}

absl::Status ReadBloom(const GgufKeys& keys, DecoderShape& shape) {
  SHOAL_RETURN_IF_ERROR(ReadSizes(keys, shape));
  SHOAL_ASSIGN_OR_RETURN(shape.norm_eps, keys.Number("attention.layer_norm_epsilon"));
  SetBloom(shape);
  return absl::OkStatus();
}

struct GgufFamily {
  const char* architecture;  // and the family's name
  absl::Status (*read)(const GgufKeys& keys, DecoderShape& shape);
  std::vector<absl::string_view> reads;  // of kNeutralOnly
};

const std::vector<GgufFamily>& GgufFamilies() {
  static const auto* const kFamilies = new std::vector<GgufFamily>{
      {"llama", ReadLlama, {"attention.sliding_window"}},
      {"qwen2", ReadQwen2, {}},
      {"qwen3", ReadQwen3, {}},
      {"phi3", ReadPhi3, {"attention.sliding_window"}},
      {"gemma3",
       ReadGemma3,
       {"attention.sliding_window", "attn_logit_softcapping", "final_logit_softcapping"}},
      {"bloom", ReadBloom, {}},
  };
  return *kFamilies;
}

absl::Status RefuseUnsupported(const GgufKeys& keys, const GgufFamily& family) {
  for (const Neutral& neutral : kNeutralOnly) {
    const absl::string_view name = neutral.name;
    if (std::find(family.reads.begin(), family.reads.end(), name) != family.reads.end()) continue;
    SHOAL_ASSIGN_OR_RETURN(const double value, keys.NumberOr(name, neutral.value));
    // A multiplier of 1 is as neutral as an absent one.
    const bool multiplier = name.find("_scale") != absl::string_view::npos;
    if (value == neutral.value || (multiplier && value == 1)) continue;
    return absl::InvalidArgumentError(absl::StrCat(
        keys.Key(name), " = ", value, " is not available yet (only ", neutral.value, ")"));
  }
  return absl::OkStatus();
}

absl::StatusOr<int32_t> TokenOr(const GgufFile& file, absl::string_view key, int64_t vocab_size) {
  if (file.Find(key) == nullptr) return -1;
  SHOAL_ASSIGN_OR_RETURN(const int64_t token, file.GetInt(key));
  if (token < 0 || token >= vocab_size) {
    return absl::InvalidArgumentError(
        absl::StrCat(key, " is ", token, ", outside the vocabulary of ", vocab_size));
  }
  return static_cast<int32_t>(token);
}

absl::StatusOr<ModelSpec> ReadSpec(const GgufFile& file) {
  SHOAL_ASSIGN_OR_RETURN(const std::string architecture, file.GetString("general.architecture"));
  const std::vector<GgufFamily>& families = GgufFamilies();
  const auto family = std::find_if(families.begin(), families.end(), [&](const GgufFamily& row) {
    return row.architecture == architecture;
  });
  if (family == families.end()) {
    return absl::InvalidArgumentError(absl::StrCat("general.architecture is \"", architecture,
                                                   "\"; built families: ", BuiltFamilies()));
  }
  const GgufKeys keys(file, architecture);
  SHOAL_RETURN_IF_ERROR(RefuseUnsupported(keys, *family));
  DecoderShape shape;
  shape.family = architecture;
  SHOAL_RETURN_IF_ERROR(family->read(keys, shape));
  ModelSpec spec = MakeSpec(shape);
  SHOAL_ASSIGN_OR_RETURN(spec.bos_token,
                         TokenOr(file, "tokenizer.ggml.bos_token_id", spec.vocab_size));
  for (const char* key : {"tokenizer.ggml.eos_token_id", "tokenizer.ggml.eot_token_id",
                          "tokenizer.ggml.eom_token_id"}) {
    SHOAL_ASSIGN_OR_RETURN(const int32_t token, TokenOr(file, key, spec.vocab_size));
    const auto& known = spec.eos_tokens;
    if (token >= 0 && std::find(known.begin(), known.end(), token) == known.end()) {
      spec.eos_tokens.push_back(token);
    }
  }
  SHOAL_RETURN_IF_ERROR(Validate(spec));
  return spec;
}

}  // namespace

absl::StatusOr<ModelSpec> SpecFromGguf(const gguf::GgufFile& file) {
  absl::StatusOr<ModelSpec> spec = ReadSpec(file);
  if (spec.ok()) return spec;
  // An absent key is the file's fault, so the caller gets one code for every bad file.
  const absl::string_view message = spec.status().message();
  if (absl::StartsWith(message, file.path())) return absl::InvalidArgumentError(message);
  return absl::InvalidArgumentError(absl::StrCat(file.path(), ": ", message));
}

}  // namespace shoal::model
