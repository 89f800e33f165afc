// SPDX-License-Identifier: Apache-2.0
#include "model/spec/decoder_shape.h"

#include <cmath>
#include <utility>

namespace shoal::model {
namespace {

LayerSpec MakeLayer(const DecoderShape& shape, bool slides) {
  LayerSpec layer;
  AttentionSpec& attention = layer.attention;
  attention.query_heads = shape.query_heads;
  attention.kv_heads = shape.kv_heads;
  attention.head_dim = shape.head_dim;
  attention.window = slides ? shape.window : 0;
  const double scale = shape.attention_scale;
  attention.scale =
      static_cast<float>(scale != 0 ? scale : 1.0 / std::sqrt(static_cast<double>(shape.head_dim)));
  attention.softcap = shape.softcap;
  attention.qkv_bias = shape.attention_bias;
  attention.out_bias = shape.out_bias;
  attention.qk_norm = shape.qk_norm;
  attention.alibi = shape.bloom;
  attention.rope = slides && shape.has_local_rope ? shape.local_rope : shape.rope;
  layer.mlp.intermediate = shape.intermediate;
  layer.mlp.activation = shape.activation;
  layer.mlp.gated = !shape.bloom;
  layer.mlp.bias = shape.mlp_bias;
  return layer;
}

}  // namespace

void SetBloom(DecoderShape& shape) {
  shape.bloom = true;
  shape.attention_bias = true;
  shape.out_bias = true;
  shape.mlp_bias = true;
  shape.activation = MlpActivation::kGeluTanh;
  shape.rope.kind = RopeKind::kNone;
}

ModelSpec MakeSpec(const DecoderShape& shape) {
  ModelSpec spec;
  spec.family = shape.family;
  spec.name = shape.name;
  spec.vocab_size = shape.vocab_size;
  spec.hidden = shape.hidden;
  spec.context = shape.context;
  spec.norm = {.kind = shape.bloom ? NormKind::kLayer : NormKind::kRms,
               .eps = static_cast<float>(shape.norm_eps),
               .offset = shape.norm_offset,
               .bias = shape.bloom};
  spec.post_norms = shape.post_norms;
  spec.embedding_norm = shape.bloom;
  spec.embedding_scale = shape.embedding_scale;
  spec.final_softcap = shape.final_softcap;
  spec.tied_head = shape.tied_head;

  KvGroup full{.window = 0, .kv_heads = shape.kv_heads, .head_dim = shape.head_dim, .layers = {}};
  KvGroup sliding = full;
  sliding.window = shape.window;
  for (int64_t i = 0; i < shape.layers; ++i) {
    const auto index = static_cast<size_t>(i);
    const bool slides = shape.window > 0 && (index >= shape.slides.size() || shape.slides[index]);
    LayerSpec layer = MakeLayer(shape, slides);
    std::vector<int32_t>& members = slides ? sliding.layers : full.layers;
    layer.kv_group = slides ? 1 : 0;
    layer.layer_in_group = static_cast<int32_t>(members.size());
    members.push_back(static_cast<int32_t>(i));
    spec.layers.push_back(std::move(layer));
  }
  if (full.layers.empty()) {
    for (LayerSpec& layer : spec.layers) layer.kv_group = 0;
  } else {
    spec.kv_groups.push_back(std::move(full));
  }
  if (!sliding.layers.empty()) spec.kv_groups.push_back(std::move(sliding));
  return spec;
}

}  // namespace shoal::model
