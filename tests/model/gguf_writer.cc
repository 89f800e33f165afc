// SPDX-License-Identifier: Apache-2.0
#include "model/gguf_writer.h"

#include <cstring>
#include <filesystem>
#include <fstream>
#include <type_traits>

#include "absl/strings/str_cat.h"
#include "gtest/gtest.h"

namespace shoal::model::testing {
namespace {

constexpr size_t kAlignment = 32;

template <typename T>
void Put(std::string& out, T value) {
  char bytes[sizeof(T)];
  std::memcpy(bytes, &value, sizeof(T));
  out.append(bytes, sizeof(T));
}

void PutString(std::string& out, const std::string& text) {
  Put<uint64_t>(out, text.size());
  out += text;
}

void PutValue(std::string& out, const GgufValue& value) {
  std::visit(
      [&](const auto& held) {
        using T = std::decay_t<decltype(held)>;
        if constexpr (std::is_same_v<T, uint32_t>) {
          Put<uint32_t>(out, 4);
          Put(out, held);
        } else if constexpr (std::is_same_v<T, float>) {
          Put<uint32_t>(out, 6);
          Put(out, held);
        } else if constexpr (std::is_same_v<T, bool>) {
          Put<uint32_t>(out, 7);
          Put<uint8_t>(out, held ? 1 : 0);
        } else if constexpr (std::is_same_v<T, std::string>) {
          Put<uint32_t>(out, 8);
          PutString(out, held);
        } else {
          Put<uint32_t>(out, 9);
          Put<uint32_t>(out, 5);
          Put<uint64_t>(out, held.size());
          for (const int32_t item : held) Put(out, item);
        }
      },
      value);
}

void Pad(std::string& out) {
  while (out.size() % kAlignment != 0) out.push_back('\0');
}

}  // namespace

GgufTensor ZeroTensor(std::string name, std::vector<uint64_t> shape) {
  uint64_t elements = 1;
  for (const uint64_t dim : shape) elements *= dim;
  return {.name = std::move(name),
          .shape = std::move(shape),
          .type = 0,
          .bytes = std::string(elements * sizeof(float), '\0')};
}

GgufContent TinyLlamaGguf() {
  GgufContent content;
  content.metadata = {{"general.architecture", std::string("llama")},
                      {"general.name", std::string("Tiny")},
                      {"llama.block_count", uint32_t{2}},
                      {"llama.context_length", uint32_t{512}},
                      {"llama.embedding_length", uint32_t{64}},
                      {"llama.feed_forward_length", uint32_t{96}},
                      {"llama.attention.head_count", uint32_t{4}},
                      {"llama.attention.head_count_kv", uint32_t{2}},
                      {"llama.attention.layer_norm_rms_epsilon", 1e-5F},
                      {"llama.rope.dimension_count", uint32_t{16}},
                      {"llama.rope.freq_base", 50000.0F},
                      {"llama.vocab_size", uint32_t{40}},
                      {"tokenizer.ggml.bos_token_id", uint32_t{1}},
                      {"tokenizer.ggml.eos_token_id", uint32_t{2}}};
  content.tensors = {ZeroTensor("token_embd.weight", {40, 64}),
                     ZeroTensor("output_norm.weight", {64})};
  for (int layer = 0; layer < 2; ++layer) {
    const std::string prefix = absl::StrCat("blk.", layer, ".");
    content.tensors.push_back(ZeroTensor(prefix + "attn_norm.weight", {64}));
    content.tensors.push_back(ZeroTensor(prefix + "attn_q.weight", {64, 64}));
    content.tensors.push_back(ZeroTensor(prefix + "attn_k.weight", {32, 64}));
    content.tensors.push_back(ZeroTensor(prefix + "attn_v.weight", {32, 64}));
    content.tensors.push_back(ZeroTensor(prefix + "attn_output.weight", {64, 64}));
    content.tensors.push_back(ZeroTensor(prefix + "ffn_norm.weight", {64}));
    content.tensors.push_back(ZeroTensor(prefix + "ffn_gate.weight", {96, 64}));
    content.tensors.push_back(ZeroTensor(prefix + "ffn_up.weight", {96, 64}));
    content.tensors.push_back(ZeroTensor(prefix + "ffn_down.weight", {64, 96}));
  }
  return content;
}

std::string EncodeGguf(const GgufContent& content) {
  std::string out = "GGUF";
  Put<uint32_t>(out, 3);
  Put<uint64_t>(out, content.tensors.size());
  Put<uint64_t>(out, content.metadata.size());
  for (const auto& [key, value] : content.metadata) {
    PutString(out, key);
    PutValue(out, value);
  }
  uint64_t offset = 0;
  for (const GgufTensor& tensor : content.tensors) {
    PutString(out, tensor.name);
    Put<uint32_t>(out, static_cast<uint32_t>(tensor.shape.size()));
    for (auto dim = tensor.shape.rbegin(); dim != tensor.shape.rend(); ++dim) Put(out, *dim);
    Put(out, tensor.type);
    Put(out, offset);
    offset += (tensor.bytes.size() + kAlignment - 1) / kAlignment * kAlignment;
  }
  Pad(out);
  for (const GgufTensor& tensor : content.tensors) {
    out += tensor.bytes;
    Pad(out);
  }
  return out;
}

std::string WriteTemporary(const std::string& name, const std::string& bytes) {
  const std::filesystem::path path =
      std::filesystem::path(::testing::TempDir()) / "shoal_model_tests" / name;
  std::filesystem::create_directories(path.parent_path());
  std::ofstream(path, std::ios::binary) << bytes;
  return path.string();
}

}  // namespace shoal::model::testing
