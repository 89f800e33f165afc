// SPDX-License-Identifier: Apache-2.0
#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "model/families/family.h"

namespace shoal::model {
namespace {

// As Llama, with q, k, v in one tensor and gate and up in another.
LayerNames Phi3LayerNames(Container container, int64_t layer) {
  LayerNames names = LlamaLayerNames(container, layer);
  if (container == Container::kGguf) {
    names.qkv = absl::StrCat("blk.", layer, ".attn_qkv");
    names.gate_up = absl::StrCat("blk.", layer, ".ffn_up");
  } else {
    names.qkv = absl::StrCat("model.layers.", layer, ".self_attn.qkv_proj");
    names.gate_up = absl::StrCat("model.layers.", layer, ".mlp.gate_up_proj");
  }
  return names;
}

// The factors are part of the spec.
bool Phi3Ignored(absl::string_view tensor) {
  return LlamaIgnored(tensor) || absl::StartsWith(tensor, "rope_factors_");
}

}  // namespace

const Family& Phi3Family() {
  static constexpr Family kFamily{.name = "phi3",
                                  .global_names = LlamaGlobalNames,
                                  .layer_names = Phi3LayerNames,
                                  .ignored = Phi3Ignored};
  return kFamily;
}

}  // namespace shoal::model
