// SPDX-License-Identifier: Apache-2.0
#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "model/families/family.h"

namespace shoal::model {

GlobalNames LlamaGlobalNames(Container container) {
  GlobalNames names;
  const bool gguf = container == Container::kGguf;
  names.embedding = gguf ? "token_embd.weight" : "model.embed_tokens.weight";
  names.final_norm = gguf ? "output_norm" : "model.norm";
  names.head = gguf ? "output.weight" : "lm_head.weight";
  return names;
}

LayerNames LlamaLayerNames(Container container, int64_t layer) {
  LayerNames names;
  if (container == Container::kGguf) {
    const std::string prefix = absl::StrCat("blk.", layer, ".");
    names.attention_norm = prefix + "attn_norm";
    names.q = prefix + "attn_q";
    names.k = prefix + "attn_k";
    names.v = prefix + "attn_v";
    names.q_norm = prefix + "attn_q_norm";
    names.k_norm = prefix + "attn_k_norm";
    names.o = prefix + "attn_output";
    names.mlp_norm = prefix + "ffn_norm";
    names.gate = prefix + "ffn_gate";
    names.up = prefix + "ffn_up";
    names.down = prefix + "ffn_down";
    return names;
  }
  const std::string prefix = absl::StrCat("model.layers.", layer, ".");
  names.attention_norm = prefix + "input_layernorm";
  names.q = prefix + "self_attn.q_proj";
  names.k = prefix + "self_attn.k_proj";
  names.v = prefix + "self_attn.v_proj";
  names.q_norm = prefix + "self_attn.q_norm";
  names.k_norm = prefix + "self_attn.k_norm";
  names.o = prefix + "self_attn.o_proj";
  names.mlp_norm = prefix + "post_attention_layernorm";
  names.gate = prefix + "mlp.gate_proj";
  names.up = prefix + "mlp.up_proj";
  names.down = prefix + "mlp.down_proj";
  return names;
}

// Rope tables: GGUF's factors are part of the spec; old Hugging Face files store inv_freq, which
// follows from the config.
bool LlamaIgnored(absl::string_view tensor) {
  return tensor == "rope_freqs.weight" || absl::EndsWith(tensor, ".rotary_emb.inv_freq");
}

const Family& LlamaFamily() {
  static constexpr Family kFamily{.name = "llama",
                                  .global_names = LlamaGlobalNames,
                                  .layer_names = LlamaLayerNames,
                                  .ignored = LlamaIgnored};
  return kFamily;
}

}  // namespace shoal::model
