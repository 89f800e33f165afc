// SPDX-License-Identifier: Apache-2.0
#include "absl/strings/str_cat.h"
#include "model/families/family.h"

namespace shoal::model {
namespace {

// As Llama, with four norms a layer.
LayerNames Gemma3LayerNames(Container container, int64_t layer) {
  LayerNames names = LlamaLayerNames(container, layer);
  if (container == Container::kGguf) {
    names.post_attention_norm = absl::StrCat("blk.", layer, ".post_attention_norm");
    names.post_mlp_norm = absl::StrCat("blk.", layer, ".post_ffw_norm");
    return names;
  }
  const std::string prefix = absl::StrCat("model.layers.", layer, ".");
  names.post_attention_norm = prefix + "post_attention_layernorm";
  names.mlp_norm = prefix + "pre_feedforward_layernorm";
  names.post_mlp_norm = prefix + "post_feedforward_layernorm";
  return names;
}

}  // namespace

const Family& Gemma3Family() {
  static constexpr Family kFamily{.name = "gemma3",
                                  .global_names = LlamaGlobalNames,
                                  .layer_names = Gemma3LayerNames,
                                  .ignored = LlamaIgnored};
  return kFamily;
}

}  // namespace shoal::model
