// SPDX-License-Identifier: Apache-2.0
// DecoderShape: the numbers a model file states, and the ModelSpec they mean. Both readers (GGUF
// and Hugging Face) end here, so that the two containers cannot drift apart.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "model/spec/model_spec.h"

namespace shoal::model {

struct DecoderShape {
  std::string family;  // as FindFamily knows it
  std::string name;
  int64_t vocab_size = 0;
  int64_t hidden = 0;
  int64_t layers = 0;
  int64_t query_heads = 0;
  int64_t kv_heads = 0;
  int64_t head_dim = 0;
  int64_t intermediate = 0;
  int64_t context = 0;
  double norm_eps = 0;
  bool attention_bias = false;  // of q, k and v
  bool out_bias = false;
  bool mlp_bias = false;
  bool qk_norm = false;
  bool post_norms = false;
  bool tied_head = false;
  float norm_offset = 0;
  double attention_scale = 0;  // 0: 1 / sqrt(head_dim)
  float softcap = 0;           // of attention
  float final_softcap = 0;
  float embedding_scale = 1;
  MlpActivation activation = MlpActivation::kSilu;
  RopeSpec rope;

  // Sliding window: of all layers, or of those that `slides` marks (empty: all). Those layers take
  // `local_rope` if it is set.
  int64_t window = 0;
  std::vector<bool> slides;
  bool has_local_rope = false;
  RopeSpec local_rope;

  // A BLOOM-like layer: LayerNorm with biases, also of the embedding, an MLP without a gate, ALiBi.
  bool bloom = false;
};

// What all BLOOM-like models have in common: `bloom`, biases everywhere, GELU, no rotation.
void SetBloom(DecoderShape& shape);

// One KV group for the layers that attend to everything, then one for those that slide. Tokens are
// left unset.
ModelSpec MakeSpec(const DecoderShape& shape);

}  // namespace shoal::model
