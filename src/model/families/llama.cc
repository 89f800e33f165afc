// SPDX-License-Identifier: Apache-2.0
#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "model/families/family.h"

namespace shoal::model {
namespace {

GlobalNames LlamaGlobalNames(Container container) {
  if (container == Container::kGguf) {
    return {.embedding = "token_embd.weight",
            .final_norm = "output_norm.weight",
            .head = "output.weight"};
  }
  return {.embedding = "model.embed_tokens.weight",
          .final_norm = "model.norm.weight",
          .head = "lm_head.weight"};
}

LayerNames LlamaLayerNames(Container container, int64_t layer) {
  if (container == Container::kGguf) {
    const std::string prefix = absl::StrCat("blk.", layer, ".");
    return {.attention_norm = prefix + "attn_norm.weight",
            .q = prefix + "attn_q",
            .k = prefix + "attn_k",
            .v = prefix + "attn_v",
            .o = prefix + "attn_output",
            .mlp_norm = prefix + "ffn_norm.weight",
            .gate = prefix + "ffn_gate",
            .up = prefix + "ffn_up",
            .down = prefix + "ffn_down"};
  }
  const std::string prefix = absl::StrCat("model.layers.", layer, ".");
  return {.attention_norm = prefix + "input_layernorm.weight",
          .q = prefix + "self_attn.q_proj",
          .k = prefix + "self_attn.k_proj",
          .v = prefix + "self_attn.v_proj",
          .o = prefix + "self_attn.o_proj",
          .mlp_norm = prefix + "post_attention_layernorm.weight",
          .gate = prefix + "mlp.gate_proj",
          .up = prefix + "mlp.up_proj",
          .down = prefix + "mlp.down_proj"};
}

// Rope tables: GGUF's factors are part of the spec; old Hugging Face files store inv_freq, which
// follows from the config.
bool LlamaIgnored(absl::string_view tensor) {
  return tensor == "rope_freqs.weight" || absl::EndsWith(tensor, ".rotary_emb.inv_freq");
}

}  // namespace

const Family& LlamaFamily() {
  static constexpr Family kFamily{.name = "llama",
                                  .global_names = LlamaGlobalNames,
                                  .layer_names = LlamaLayerNames,
                                  .ignored = LlamaIgnored};
  return kFamily;
}

}  // namespace shoal::model
