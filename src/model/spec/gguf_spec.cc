// SPDX-License-Identifier: Apache-2.0
#include "model/spec/gguf_spec.h"

#include <algorithm>
#include <cmath>
#include <cstring>
#include <string>
#include <variant>
#include <vector>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "base/status.h"
#include "model/spec/llama_shape.h"

namespace shoal::model {
namespace {

using gguf::GgufFile;

constexpr int64_t kLayersMax = 4096;
constexpr int64_t kSizeMax = int64_t{1} << 28;

absl::Status OutOfRange(absl::string_view key, int64_t value, int64_t max) {
  return absl::InvalidArgumentError(absl::StrCat(key, " is ", value, ", outside [1, ", max, "]"));
}

// A required size in [1, max].
absl::StatusOr<int64_t> Size(const GgufFile& file, absl::string_view key, int64_t max = kSizeMax) {
  SHOAL_ASSIGN_OR_RETURN(const int64_t value, file.GetInt(key));
  if (value < 1 || value > max) return OutOfRange(key, value, max);
  return value;
}

absl::StatusOr<int64_t> SizeOr(const GgufFile& file, absl::string_view key, int64_t fallback) {
  return file.Find(key) == nullptr ? fallback : Size(file, key);
}

// A flag counts as 0 or 1.
absl::StatusOr<double> NumberOr(const GgufFile& file, absl::string_view key, double fallback) {
  const gguf::Value* value = file.Find(key);
  if (value == nullptr) return fallback;
  if (const bool* flag = std::get_if<bool>(value)) return *flag ? 1 : 0;
  return file.GetDouble(key);
}

// A size that may be given per layer; all layers must agree.
absl::StatusOr<int64_t> UniformSize(const GgufFile& file, absl::string_view key) {
  const gguf::Value* value = file.Find(key);
  const auto* list = value == nullptr ? nullptr : std::get_if<std::vector<int64_t>>(value);
  if (list == nullptr) return Size(file, key);
  if (list->empty()) return absl::InvalidArgumentError(absl::StrCat(key, " is an empty list"));
  for (const int64_t item : *list) {
    if (item != list->front()) {
      return absl::InvalidArgumentError(absl::StrCat(key, " differs between layers (",
                                                     list->front(), " and ", item,
                                                     "), which is not available yet"));
    }
  }
  if (list->front() < 1 || list->front() > kSizeMax) {
    return OutOfRange(key, list->front(), kSizeMax);
  }
  return list->front();
}

struct Neutral {
  const char* key;  // after "llama."
  double value;     // the only one that changes nothing
};

// Keys of other models of this architecture name: each changes the answer, none is supported.
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
    {"rope.scaling.attn_factor", 1},
    {"rope.scale_linear", 1},
};

absl::Status RefuseUnsupported(const GgufFile& file) {
  for (const Neutral& neutral : kNeutralOnly) {
    const std::string key = absl::StrCat("llama.", neutral.key);
    SHOAL_ASSIGN_OR_RETURN(const double value, NumberOr(file, key, neutral.value));
    // A multiplier of 1 is as neutral as an absent one.
    const bool multiplier =
        absl::string_view(neutral.key).find("_scale") != absl::string_view::npos;
    if (value == neutral.value || (multiplier && value == 1)) continue;
    return absl::InvalidArgumentError(
        absl::StrCat(key, " = ", value, " is not available yet (only ", neutral.value, ")"));
  }
  return absl::OkStatus();
}

absl::StatusOr<std::vector<float>> FreqFactors(const GgufFile& file) {
  const gguf::TensorInfo* tensor = file.FindTensor("rope_freqs.weight");
  if (tensor == nullptr) return std::vector<float>{};
  if (tensor->type != static_cast<uint32_t>(gguf::TensorType::kF32) || tensor->shape.size() != 1) {
    return absl::InvalidArgumentError("rope_freqs.weight is not a list of F32");
  }
  std::vector<float> factors(static_cast<size_t>(tensor->bytes) / sizeof(float));
  std::memcpy(factors.data(), tensor->data, factors.size() * sizeof(float));
  return factors;
}

absl::StatusOr<RopeSpec> ReadRope(const GgufFile& file, int64_t head_dim) {
  RopeSpec rope;
  rope.interleaved = true;  // the format stores q and k permuted for pairs (2i, 2i + 1)
  SHOAL_ASSIGN_OR_RETURN(rope.rotary_dim, SizeOr(file, "llama.rope.dimension_count", head_dim));
  SHOAL_ASSIGN_OR_RETURN(rope.theta, NumberOr(file, "llama.rope.freq_base", 10000));
  SHOAL_ASSIGN_OR_RETURN(rope.freq_factors, FreqFactors(file));
  if (file.Find("llama.rope.scaling.type") == nullptr) return rope;
  SHOAL_ASSIGN_OR_RETURN(const std::string type, file.GetString("llama.rope.scaling.type"));
  if (type == "none") return rope;
  if (type != "linear") {
    return absl::InvalidArgumentError(absl::StrCat("llama.rope.scaling.type = \"", type,
                                                   "\" is not available yet (none, linear)"));
  }
  rope.kind = RopeKind::kLinear;
  SHOAL_ASSIGN_OR_RETURN(rope.factor, file.GetDouble("llama.rope.scaling.factor"));
  return rope;
}

absl::StatusOr<int64_t> HeadDim(const GgufFile& file, int64_t hidden, int64_t query_heads) {
  const bool stated = file.Find("llama.attention.key_length") != nullptr;
  if (!stated && hidden % query_heads != 0) {
    return absl::InvalidArgumentError(absl::StrCat(
        "llama.embedding_length ", hidden, " is not a multiple of ", "llama.attention.head_count ",
        query_heads, " and llama.attention.key_length is absent"));
  }
  SHOAL_ASSIGN_OR_RETURN(const int64_t key_length,
                         SizeOr(file, "llama.attention.key_length", hidden / query_heads));
  SHOAL_ASSIGN_OR_RETURN(const int64_t value_length,
                         SizeOr(file, "llama.attention.value_length", hidden / query_heads));
  if (key_length != value_length) {
    return absl::InvalidArgumentError(absl::StrCat("llama.attention.value_length ", value_length,
                                                   " differs from llama.attention.key_length ",
                                                   key_length, ", which is not available yet"));
  }
  return key_length;
}

absl::StatusOr<int64_t> VocabularySize(const GgufFile& file) {
  if (file.Find("llama.vocab_size") != nullptr) return Size(file, "llama.vocab_size");
  const gguf::TensorInfo* table = file.FindTensor("token_embd.weight");
  if (table == nullptr || table->shape.size() != 2) {
    return absl::InvalidArgumentError(
        "llama.vocab_size is absent and token_embd.weight does not tell it");
  }
  return table->shape[0];
}

absl::StatusOr<LlamaShape> ReadShape(const GgufFile& file) {
  LlamaShape shape;
  SHOAL_ASSIGN_OR_RETURN(shape.layers, Size(file, "llama.block_count", kLayersMax));
  SHOAL_ASSIGN_OR_RETURN(shape.hidden, Size(file, "llama.embedding_length"));
  SHOAL_ASSIGN_OR_RETURN(shape.intermediate, UniformSize(file, "llama.feed_forward_length"));
  SHOAL_ASSIGN_OR_RETURN(shape.query_heads, UniformSize(file, "llama.attention.head_count"));
  shape.kv_heads = shape.query_heads;
  if (file.Find("llama.attention.head_count_kv") != nullptr) {
    SHOAL_ASSIGN_OR_RETURN(shape.kv_heads, UniformSize(file, "llama.attention.head_count_kv"));
  }
  SHOAL_ASSIGN_OR_RETURN(shape.head_dim, HeadDim(file, shape.hidden, shape.query_heads));
  SHOAL_ASSIGN_OR_RETURN(shape.context, Size(file, "llama.context_length"));
  SHOAL_ASSIGN_OR_RETURN(shape.norm_eps, file.GetDouble("llama.attention.layer_norm_rms_epsilon"));
  SHOAL_ASSIGN_OR_RETURN(shape.vocab_size, VocabularySize(file));
  SHOAL_ASSIGN_OR_RETURN(shape.rope, ReadRope(file, shape.head_dim));
  shape.attention_bias = file.FindTensor("blk.0.attn_q.bias") != nullptr;
  shape.out_bias = file.FindTensor("blk.0.attn_output.bias") != nullptr;
  shape.mlp_bias = file.FindTensor("blk.0.ffn_down.bias") != nullptr;
  shape.tied_head = file.FindTensor("output.weight") == nullptr;
  const auto name = file.GetString("general.name");
  if (name.ok()) shape.name = *name;
  return shape;
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
  if (architecture != "llama") {
    return absl::InvalidArgumentError(absl::StrCat("general.architecture is \"", architecture,
                                                   "\"; built families: ", kBuiltFamilies));
  }
  SHOAL_RETURN_IF_ERROR(RefuseUnsupported(file));
  SHOAL_ASSIGN_OR_RETURN(const LlamaShape shape, ReadShape(file));
  ModelSpec spec = MakeLlamaSpec(shape);
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
