// SPDX-License-Identifier: Apache-2.0
#include "model/spec/llama_shape.h"

#include <cmath>

namespace shoal::model {

ModelSpec MakeLlamaSpec(const LlamaShape& shape) {
  LayerSpec layer;
  layer.attention.query_heads = shape.query_heads;
  layer.attention.kv_heads = shape.kv_heads;
  layer.attention.head_dim = shape.head_dim;
  layer.attention.scale = static_cast<float>(1.0 / std::sqrt(static_cast<double>(shape.head_dim)));
  layer.attention.qkv_bias = shape.attention_bias;
  layer.attention.out_bias = shape.out_bias;
  layer.attention.rope = shape.rope;
  layer.mlp.intermediate = shape.intermediate;
  layer.mlp.bias = shape.mlp_bias;

  ModelSpec spec;
  spec.family = "llama";
  spec.name = shape.name;
  spec.vocab_size = shape.vocab_size;
  spec.hidden = shape.hidden;
  spec.context = shape.context;
  spec.norm_eps = static_cast<float>(shape.norm_eps);
  spec.tied_head = shape.tied_head;
  KvGroup group{.window = 0, .kv_heads = shape.kv_heads, .head_dim = shape.head_dim, .layers = {}};
  for (int64_t i = 0; i < shape.layers; ++i) {
    layer.layer_in_group = static_cast<int32_t>(i);
    spec.layers.push_back(layer);
    group.layers.push_back(static_cast<int32_t>(i));
  }
  spec.kv_groups.push_back(std::move(group));
  return spec;
}

}  // namespace shoal::model
