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

enum class RopeKind : uint8_t { kNone, kPlain, kLinear, kLlama3 };

struct RopeSpec {
  RopeKind kind = RopeKind::kPlain;
  double theta = 10000;
  int64_t rotary_dim = 0;   // rotated dims of a head, <= head_dim
  bool interleaved = false; // pairs (2i, 2i+1) instead of (i, i + d/2)
  double factor = 1;        // linear and llama3
  double low_freq_factor = 1, high_freq_factor = 4;  // llama3
  int64_t original_context = 8192;                   // llama3
  std::vector<float> freq_factors;  // from a GGUF rope_freqs tensor: inv_freq is divided by these
  friend bool operator==(const RopeSpec&, const RopeSpec&) = default;
};

struct AttentionSpec {
  int64_t query_heads = 0;
  int64_t kv_heads = 0;
  int64_t head_dim = 0;
  int64_t window = 0;   // 0: full
  float scale = 0;
  float softcap = 0;
  bool qkv_bias = false;
  bool out_bias = false;
  bool qk_norm = false;
  RopeSpec rope;
};

enum class GatedActivation : uint8_t { kSilu };

struct MlpSpec {
  int64_t intermediate = 0;
  GatedActivation activation = GatedActivation::kSilu;
  bool bias = false;
};

struct LayerSpec {
  AttentionSpec attention;
  MlpSpec mlp;
  int32_t kv_group = 0;      // which KvGroup the layer's cache belongs to
  int32_t layer_in_group = 0;
};

// Layers of equal retention and shape.
struct KvGroup {
  int64_t window = 0;  // 0: full
  int64_t kv_heads = 0;
  int64_t head_dim = 0;
  std::vector<int32_t> layers;
};

struct ModelSpec {
  std::string family;        // "llama"
  std::string name;          // from the file, for display only
  int64_t vocab_size = 0;    // rows of embedding and head
  int64_t hidden = 0;
  int64_t context = 0;       // trained context
  float norm_eps = 1e-5f;
  float embedding_scale = 1;
  bool tied_head = false;
  std::vector<LayerSpec> layers;
  std::vector<KvGroup> kv_groups;
  int32_t bos_token = -1;                // -1: none
  std::vector<int32_t> eos_tokens;       // generation_config is authoritative

  // Bytes of KV one token takes over all layers with elements of `element_bytes`.
  int64_t KvBytesPerToken(int64_t element_bytes) const;
};

// Checks that all sizes are positive, consistent and within limits.
absl::Status Validate(const ModelSpec& spec);

}  // namespace shoal::model
