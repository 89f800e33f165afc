// SPDX-License-Identifier: Apache-2.0
#include "model/spec/model_spec.h"

#include <cmath>
#include <limits>

#include "absl/strings/str_cat.h"
#include "base/status.h"

namespace shoal::model {
namespace {

constexpr int64_t kVocabularyMax = int64_t{1} << 24;
constexpr int64_t kWidthMax = int64_t{1} << 20;
constexpr int64_t kHeadsMax = 4096;
constexpr int64_t kHeadDimMax = 4096;
constexpr int64_t kContextMax = int64_t{1} << 28;
constexpr size_t kLayersMax = 4096;

absl::Status InRange(absl::string_view what, int64_t value, int64_t max) {
  if (value >= 1 && value <= max) return absl::OkStatus();
  return absl::InvalidArgumentError(absl::StrCat(what, " is ", value, ", outside [1, ", max, "]"));
}

absl::Status Positive(absl::string_view what, double value) {
  if (std::isfinite(value) && value > 0) return absl::OkStatus();
  return absl::InvalidArgumentError(absl::StrCat(what, " is ", value, ", not a positive number"));
}

absl::Status ValidateYarn(const RopeSpec& rope) {
  SHOAL_RETURN_IF_ERROR(InRange("rope original context", rope.original_context, kContextMax));
  SHOAL_RETURN_IF_ERROR(Positive("rope beta_fast", rope.beta_fast));
  SHOAL_RETURN_IF_ERROR(Positive("rope beta_slow", rope.beta_slow));
  if (rope.theta > 1) return absl::OkStatus();
  return absl::InvalidArgumentError(
      absl::StrCat("rope theta is ", rope.theta, ", but yarn needs one above 1"));
}

// Empty, or one per rotated pair.
absl::Status ValidateFactors(const std::vector<float>& factors, int64_t pairs) {
  if (!factors.empty() && static_cast<int64_t>(factors.size()) != pairs) {
    return absl::InvalidArgumentError(absl::StrCat(
        "rope has ", factors.size(), " frequency factors, but ", pairs, " rotated pairs"));
  }
  for (const float factor : factors) {
    SHOAL_RETURN_IF_ERROR(Positive("a rope frequency factor", factor));
  }
  return absl::OkStatus();
}

absl::Status ValidateRope(const RopeSpec& rope, int64_t head_dim) {
  if (rope.kind == RopeKind::kNone) return absl::OkStatus();
  SHOAL_RETURN_IF_ERROR(InRange("rope dimensions", rope.rotary_dim, head_dim));
  if (rope.rotary_dim % 2 != 0) {
    return absl::InvalidArgumentError(
        absl::StrCat("rope dimensions are ", rope.rotary_dim, ", an odd number"));
  }
  SHOAL_RETURN_IF_ERROR(Positive("rope theta", rope.theta));
  SHOAL_RETURN_IF_ERROR(Positive("rope factor", rope.factor));
  if (rope.kind == RopeKind::kLlama3) {
    SHOAL_RETURN_IF_ERROR(Positive("rope low_freq_factor", rope.low_freq_factor));
    SHOAL_RETURN_IF_ERROR(Positive("rope high_freq_factor", rope.high_freq_factor));
    if (rope.high_freq_factor <= rope.low_freq_factor) {
      return absl::InvalidArgumentError(
          absl::StrCat("rope high_freq_factor ", rope.high_freq_factor,
                       " must be above low_freq_factor ", rope.low_freq_factor));
    }
    SHOAL_RETURN_IF_ERROR(InRange("rope original context", rope.original_context, kContextMax));
  }
  if (rope.kind == RopeKind::kYarn) SHOAL_RETURN_IF_ERROR(ValidateYarn(rope));
  SHOAL_RETURN_IF_ERROR(Positive("rope magnitude", rope.magnitude));
  SHOAL_RETURN_IF_ERROR(ValidateFactors(rope.freq_factors, rope.rotary_dim / 2));
  if (rope.long_freq_factors.empty()) return absl::OkStatus();
  SHOAL_RETURN_IF_ERROR(InRange("rope original context", rope.original_context, kContextMax));
  return ValidateFactors(rope.long_freq_factors, rope.rotary_dim / 2);
}

absl::Status ValidateAttention(const AttentionSpec& attention) {
  SHOAL_RETURN_IF_ERROR(InRange("query heads", attention.query_heads, kHeadsMax));
  SHOAL_RETURN_IF_ERROR(InRange("KV heads", attention.kv_heads, attention.query_heads));
  if (attention.query_heads % attention.kv_heads != 0) {
    return absl::InvalidArgumentError(absl::StrCat("query heads ", attention.query_heads,
                                                   " are not a multiple of KV heads ",
                                                   attention.kv_heads));
  }
  SHOAL_RETURN_IF_ERROR(InRange("head dimension", attention.head_dim, kHeadDimMax));
  SHOAL_RETURN_IF_ERROR(Positive("attention scale", attention.scale));
  if (attention.window < 0) {
    return absl::InvalidArgumentError(
        absl::StrCat("attention window is ", attention.window, ", below 0"));
  }
  if (!std::isfinite(attention.softcap) || attention.softcap < 0) {
    return absl::InvalidArgumentError(
        absl::StrCat("attention softcap is ", attention.softcap, ", not 0 or above"));
  }
  if (attention.alibi && attention.rope.kind != RopeKind::kNone) {
    return absl::InvalidArgumentError("attention has both ALiBi and rotary embeddings");
  }
  return ValidateRope(attention.rope, attention.head_dim);
}

absl::Status ValidateLayer(const ModelSpec& spec, size_t index) {
  const LayerSpec& layer = spec.layers[index];
  SHOAL_RETURN_IF_ERROR(ValidateAttention(layer.attention));
  SHOAL_RETURN_IF_ERROR(InRange("MLP width", layer.mlp.intermediate, kWidthMax * 16));
  if (!layer.mlp.gated && layer.mlp.activation != MlpActivation::kGeluTanh) {
    return absl::InvalidArgumentError("an MLP without a gate must use GELU");
  }
  if (layer.kv_group < 0 || static_cast<size_t>(layer.kv_group) >= spec.kv_groups.size()) {
    return absl::InvalidArgumentError(absl::StrCat("KV group ", layer.kv_group, " does not exist"));
  }
  const KvGroup& group = spec.kv_groups[static_cast<size_t>(layer.kv_group)];
  const bool listed =
      layer.layer_in_group >= 0 &&
      static_cast<size_t>(layer.layer_in_group) < group.layers.size() &&
      group.layers[static_cast<size_t>(layer.layer_in_group)] == static_cast<int32_t>(index);
  if (!listed || group.window != layer.attention.window ||
      group.kv_heads != layer.attention.kv_heads || group.head_dim != layer.attention.head_dim) {
    return absl::InvalidArgumentError(
        absl::StrCat("KV group ", layer.kv_group, " does not describe the layer's cache"));
  }
  return absl::OkStatus();
}

absl::Status ValidateTokens(const ModelSpec& spec) {
  if (spec.bos_token < -1 || spec.bos_token >= spec.vocab_size) {
    return absl::InvalidArgumentError(absl::StrCat(
        "the BOS token ", spec.bos_token, " is outside the vocabulary of ", spec.vocab_size));
  }
  for (const int32_t token : spec.eos_tokens) {
    if (token < 0 || token >= spec.vocab_size) {
      return absl::InvalidArgumentError(
          absl::StrCat("the EOS token ", token, " is outside the vocabulary of ", spec.vocab_size));
    }
  }
  return absl::OkStatus();
}

}  // namespace

int64_t ModelSpec::KvBytesPerToken(int64_t element_bytes) const {
  int64_t elements = 0;
  for (const KvGroup& group : kv_groups) {
    elements += 2 * group.kv_heads * group.head_dim * static_cast<int64_t>(group.layers.size());
  }
  return elements * element_bytes;
}

std::vector<float> AlibiSlopes(int64_t heads) {
  int64_t power = 1;
  while (power * 2 <= heads) power *= 2;
  const auto slope = [](int64_t i, int64_t n) {
    // Extended precision has one code path for all CPUs; see MakeRopeTable.
    const long double exponent = -8.0L * static_cast<long double>(i) / static_cast<long double>(n);
    return static_cast<float>(std::pow(2.0L, exponent));
  };
  std::vector<float> slopes;
  for (int64_t i = 1; i <= power; ++i) slopes.push_back(slope(i, power));
  for (int64_t i = 1; static_cast<int64_t>(slopes.size()) < heads; i += 2) {
    slopes.push_back(slope(i, 2 * power));
  }
  return slopes;
}

absl::Status Validate(const ModelSpec& spec) {
  if (spec.family.empty()) return absl::InvalidArgumentError("the model family is not named");
  SHOAL_RETURN_IF_ERROR(InRange("vocabulary size", spec.vocab_size, kVocabularyMax));
  SHOAL_RETURN_IF_ERROR(InRange("hidden size", spec.hidden, kWidthMax));
  SHOAL_RETURN_IF_ERROR(InRange("context", spec.context, kContextMax));
  SHOAL_RETURN_IF_ERROR(Positive("norm epsilon", spec.norm.eps));
  SHOAL_RETURN_IF_ERROR(Positive("embedding scale", spec.embedding_scale));
  if (!std::isfinite(spec.norm.offset)) {
    return absl::InvalidArgumentError("the norm offset is not a finite number");
  }
  if (!std::isfinite(spec.final_softcap) || spec.final_softcap < 0) {
    return absl::InvalidArgumentError(
        absl::StrCat("final softcap is ", spec.final_softcap, ", not 0 or above"));
  }
  if (spec.layers.empty() || spec.layers.size() > kLayersMax) {
    return absl::InvalidArgumentError(absl::StrCat("the number of layers is ", spec.layers.size(),
                                                   ", outside [1, ", kLayersMax, "]"));
  }
  size_t listed = 0;
  for (const KvGroup& group : spec.kv_groups) listed += group.layers.size();
  if (listed != spec.layers.size()) {
    return absl::InvalidArgumentError(
        absl::StrCat("the KV groups list ", listed, " layers of ", spec.layers.size()));
  }
  for (size_t i = 0; i < spec.layers.size(); ++i) {
    SHOAL_RETURN_IF_ERROR(Annotate(ValidateLayer(spec, i), absl::StrCat("layer ", i)));
  }
  return ValidateTokens(spec);
}

}  // namespace shoal::model
