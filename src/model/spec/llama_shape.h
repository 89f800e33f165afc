// SPDX-License-Identifier: Apache-2.0
// LlamaShape: the numbers a Llama-family file states, and the ModelSpec they mean. Both readers
// (GGUF and Hugging Face) end here, so that the two containers cannot drift apart.
#pragma once

#include <cstdint>
#include <string>

#include "absl/strings/string_view.h"
#include "model/spec/model_spec.h"

namespace shoal::model {

// Families that are built, for error messages.
inline constexpr absl::string_view kBuiltFamilies = "llama (LlamaForCausalLM)";

struct LlamaShape {
  std::string name;
  int64_t vocab_size = 0;
  int64_t hidden = 0;
  int64_t layers = 0;
  int64_t query_heads = 0;
  int64_t kv_heads = 0;
  int64_t head_dim = 0;
  int64_t intermediate = 0;
  int64_t context = 0;
  double norm_eps = 0;
  bool attention_bias = false;  // of q, k and v
  bool out_bias = false;
  bool mlp_bias = false;
  bool tied_head = false;
  RopeSpec rope;
};

// A uniform stack with one KV group. Tokens are left unset.
ModelSpec MakeLlamaSpec(const LlamaShape& shape);

}  // namespace shoal::model
