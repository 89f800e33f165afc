// SPDX-License-Identifier: Apache-2.0
// Family: how the files of a model family name their tensors. A family only describes; the one
// decoder runs what its ModelSpec says.
#pragma once

#include <cstdint>
#include <string>

#include "absl/strings/string_view.h"

namespace shoal::model {

enum class Container : uint8_t { kGguf, kHuggingFace };

// Tensors of one layer, all as stems: ".weight" and ".bias" follow.
struct LayerNames {
  std::string attention_norm;
  std::string q, k, v;         // or, in one tensor,
  std::string qkv;             //   all three; empty: they are apart
  bool qkv_by_head = false;    // rows of qkv: (q, k, v) of head 0, of head 1, ...; else q, k, v
  std::string q_norm, k_norm;  // where the spec has them
  std::string o;
  std::string post_attention_norm;  // where the spec has it
  std::string mlp_norm;
  std::string gate, up;  // up alone without a gate; or, in one tensor,
  std::string gate_up;   //   both, gate first; empty: they are apart
  std::string down;
  std::string post_mlp_norm;  // where the spec has it
};

// Tensors outside the layers. Norms are stems, the others complete names.
struct GlobalNames {
  std::string embedding;
  std::string embedding_norm;  // where the spec has it
  std::string final_norm;
  std::string head;
};

struct Family {
  absl::string_view name;  // ModelSpec::family
  GlobalNames (*global_names)(Container container);
  LayerNames (*layer_names)(Container container, int64_t layer);
  // A tensor that files may carry and that needs no binding.
  bool (*ignored)(absl::string_view tensor);
  // Some files lack this prefix of Hugging Face names.
  absl::string_view optional_prefix = "";
};

// nullptr when no family has this name.
const Family* FindFamily(absl::string_view name);

// Llama 1 to 3 and what shares their names: Mistral, Qwen2, Qwen3 (SmolLM2, TinyLlama, ...).
const Family& LlamaFamily();
const Family& Phi3Family();
const Family& Gemma3Family();
const Family& BloomFamily();

// Names that several families share.
GlobalNames LlamaGlobalNames(Container container);
LayerNames LlamaLayerNames(Container container, int64_t layer);
bool LlamaIgnored(absl::string_view tensor);

}  // namespace shoal::model
