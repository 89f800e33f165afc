// SPDX-License-Identifier: Apache-2.0
#include "model/families/family.h"

namespace shoal::model {

const Family* FindFamily(absl::string_view name) {
  for (const absl::string_view same : {"llama", "mistral", "qwen2", "qwen3"}) {
    if (name == same) return &LlamaFamily();
  }
  for (const Family* family : {&Phi3Family(), &Gemma3Family(), &BloomFamily()}) {
    if (name == family->name) return family;
  }
  return nullptr;
}

}  // namespace shoal::model
