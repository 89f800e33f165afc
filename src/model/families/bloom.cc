// SPDX-License-Identifier: Apache-2.0
#include "absl/strings/str_cat.h"
#include "model/families/family.h"

namespace shoal::model {
namespace {

GlobalNames BloomGlobalNames(Container container) {
  if (container == Container::kGguf) {
    return {.embedding = "token_embd.weight",
            .embedding_norm = "token_embd_norm",
            .final_norm = "output_norm",
            .head = "output.weight"};
  }
  return {.embedding = "transformer.word_embeddings.weight",
          .embedding_norm = "transformer.word_embeddings_layernorm",
          .final_norm = "transformer.ln_f",
          .head = "lm_head.weight"};
}

LayerNames BloomLayerNames(Container container, int64_t layer) {
  LayerNames names;
  if (container == Container::kGguf) {  // the format stores q, k and v one after the other
    names = LlamaLayerNames(container, layer);
    names.qkv = absl::StrCat("blk.", layer, ".attn_qkv");
    return names;
  }
  const std::string prefix = absl::StrCat("transformer.h.", layer, ".");
  names.attention_norm = prefix + "input_layernorm";
  names.qkv = prefix + "self_attention.query_key_value";
  names.qkv_by_head = true;
  names.o = prefix + "self_attention.dense";
  names.mlp_norm = prefix + "post_attention_layernorm";
  names.up = prefix + "mlp.dense_h_to_4h";
  names.down = prefix + "mlp.dense_4h_to_h";
  return names;
}

bool BloomIgnored(absl::string_view) { return false; }

}  // namespace

const Family& BloomFamily() {
  static constexpr Family kFamily{.name = "bloom",
                                  .global_names = BloomGlobalNames,
                                  .layer_names = BloomLayerNames,
                                  .ignored = BloomIgnored,
                                  .optional_prefix = "transformer."};
  return kFamily;
}

}  // namespace shoal::model
