// SPDX-License-Identifier: Apache-2.0
// ModelSpec: a model described by data. One decoder runs any spec; a family is only a function that
// fills this in from HF config.json or GGUF metadata.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"

namespace shoal::model {

enum class RopeKind : uint8_t { kNone, kPlain, kLinear, kLlama3, kYarn };

struct RopeSpec {
  RopeKind kind = RopeKind::kPlain;
  double theta = 10000;
  int64_t rotary_dim = 0;                            // rotated dims of a head, <= head_dim
  bool interleaved = false;                          // pairs (2i, 2i+1) instead of (i, i + d/2)
  double factor = 1;                                 // linear, llama3 and yarn
  double low_freq_factor = 1, high_freq_factor = 4;  // llama3
  int64_t original_context = 8192;                   // llama3, yarn and longrope
  // inv_freq is divided by these: a GGUF rope_freqs tensor, or longrope's short factors.
  std::vector<float> freq_factors = {};
  // longrope: used instead where the served context exceeds original_context; else empty.
  std::vector<float> long_freq_factors = {};
  double beta_fast = 32, beta_slow = 1;  // yarn
  bool truncate = true;                  // yarn: whole numbers as ends of its ramp
  double magnitude = 1;                  // cosine and sine are multiplied by it (yarn, longrope)
  friend bool operator==(const RopeSpec&, const RopeSpec&) = default;
};

struct AttentionSpec {
  int64_t query_heads = 0;
  int64_t kv_heads = 0;
  int64_t head_dim = 0;
  int64_t window = 0;  // 0: full
  float scale = 0;
  float softcap = 0;
  bool qkv_bias = false;
  bool out_bias = false;
  bool qk_norm = false;
  bool alibi = false;  // distances bias the scores, see AlibiSlopes
  RopeSpec rope;
  friend bool operator==(const AttentionSpec&, const AttentionSpec&) = default;
};

enum class MlpActivation : uint8_t { kSilu, kGeluTanh };

struct MlpSpec {
  int64_t intermediate = 0;
  MlpActivation activation = MlpActivation::kSilu;
  bool gated = true;  // activation(gate) * up; else activation(up) of kGeluTanh alone
  bool bias = false;
  friend bool operator==(const MlpSpec&, const MlpSpec&) = default;
};

struct LayerSpec {
  AttentionSpec attention;
  MlpSpec mlp;
  int32_t kv_group = 0;  // which KvGroup the layer's cache belongs to
  int32_t layer_in_group = 0;
  friend bool operator==(const LayerSpec&, const LayerSpec&) = default;
};

// Layers of equal retention and shape.
struct KvGroup {
  int64_t window = 0;  // 0: full
  int64_t kv_heads = 0;
  int64_t head_dim = 0;
  std::vector<int32_t> layers;
  friend bool operator==(const KvGroup&, const KvGroup&) = default;
};

enum class NormKind : uint8_t { kRms, kLayer };

struct NormSpec {
  NormKind kind = NormKind::kRms;
  float eps = 1e-5f;
  float offset = 0;   // added to weights as they lie in the file: 1 where files store w - 1
  bool bias = false;  // kLayer only
  friend bool operator==(const NormSpec&, const NormSpec&) = default;
};

struct ModelSpec {
  std::string family;      // as FindFamily knows it: "llama"
  std::string name;        // from the file, for display only
  int64_t vocab_size = 0;  // rows of embedding and head
  int64_t hidden = 0;
  int64_t context = 0;      // trained context
  NormSpec norm;            // all norms
  bool post_norms = false;  // attention and MLP outputs are normed before they are added
  bool embedding_norm = false;
  float embedding_scale = 1;
  float final_softcap = 0;  // of the logits; 0: none
  bool tied_head = false;
  std::vector<LayerSpec> layers;
  std::vector<KvGroup> kv_groups;
  int32_t bos_token = -1;           // -1: none
  std::vector<int32_t> eos_tokens;  // generation_config is authoritative

  // Bytes of KV one token takes over all layers with elements of `element_bytes`.
  int64_t KvBytesPerToken(int64_t element_bytes) const;
  friend bool operator==(const ModelSpec&, const ModelSpec&) = default;
};

// ALiBi's slope of each query head: 2^(-8 i / n) for the n = largest power of two heads, i = 1...n;
// the rest take every other slope of 2n heads.
std::vector<float> AlibiSlopes(int64_t heads);

// Checks that all sizes are positive, consistent and within limits.
absl::Status Validate(const ModelSpec& spec);

}  // namespace shoal::model
