// SPDX-License-Identifier: Apache-2.0
// GgufWriter: makes small GGUF files for tests, right or deliberately wrong.
#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <variant>
#include <vector>

namespace shoal::model::testing {

// Metadata in the types the format's own tools use: uint32, float32, bool, string, and a list of
// int32.
using GgufValue = std::variant<uint32_t, float, bool, std::string, std::vector<int32_t>>;

struct GgufTensor {
  std::string name;
  std::vector<uint64_t> shape;  // outermost first
  uint32_t type = 0;            // F32
  std::string bytes;
};

// An F32 tensor of zeros.
GgufTensor ZeroTensor(std::string name, std::vector<uint64_t> shape);

struct GgufContent {
  std::map<std::string, GgufValue> metadata;
  std::vector<GgufTensor> tensors;
};

// A complete llama model of zeros: 2 layers, hidden 64, 4 query and 2 KV heads of 16, MLP 96,
// vocabulary 40, tied head.
GgufContent TinyLlamaGguf();

// The file's bytes (version 3, alignment 32).
std::string EncodeGguf(const GgufContent& content);

// Writes `bytes` to a new file below the test's temporary directory; returns its path.
std::string WriteTemporary(const std::string& name, const std::string& bytes);

}  // namespace shoal::model::testing
