// SPDX-License-Identifier: Apache-2.0
// Family: how the files of a model family name their tensors. A family only describes; the one
// decoder runs what its ModelSpec says.
#pragma once

#include <cstdint>
#include <string>

#include "absl/strings/string_view.h"

namespace shoal::model {

enum class Container : uint8_t { kGguf, kHuggingFace };

// Tensors of one layer. Projections are stems: ".weight" and ".bias" follow.
struct LayerNames {
  std::string attention_norm;
  std::string q, k, v, o;
  std::string mlp_norm;
  std::string gate, up, down;
};

// Tensors outside the layers, complete names.
struct GlobalNames {
  std::string embedding;
  std::string final_norm;
  std::string head;
};

struct Family {
  absl::string_view name;  // ModelSpec::family
  GlobalNames (*global_names)(Container container);
  LayerNames (*layer_names)(Container container, int64_t layer);
  // A tensor that files may carry and that needs no binding.
  bool (*ignored)(absl::string_view tensor);
};

// nullptr when no family has this name.
const Family* FindFamily(absl::string_view name);

// Llama 1 to 3 and what shares their shape (SmolLM2, TinyLlama, ...).
const Family& LlamaFamily();

}  // namespace shoal::model
