// SPDX-License-Identifier: Apache-2.0
#include "model/spec/gguf_spec.h"

#include <cmath>
#include <cstring>
#include <functional>
#include <string>
#include <vector>

#include "gtest/gtest.h"
#include "model/gguf_writer.h"

namespace shoal::model::testing {
namespace {

using Change = std::function<void(GgufContent&)>;

absl::StatusOr<ModelSpec> Read(const Change& change) {
  GgufContent content = TinyLlamaGguf();
  change(content);
  const auto file = gguf::GgufFile::Open(WriteTemporary("spec.gguf", EncodeGguf(content)));
  if (!file.ok()) return file.status();
  return SpecFromGguf(**file);
}

Change Set(const std::string& key, const GgufValue& value) {
  return [=](GgufContent& content) { content.metadata[key] = value; };
}

Change Erase(const std::string& key) {
  return [=](GgufContent& content) { content.metadata.erase(key); };
}

TEST(GgufSpec, ReadsTheWholeDescription) {
  const auto spec = Read([](GgufContent&) {});
  ASSERT_TRUE(spec.ok()) << spec.status();
  EXPECT_EQ(spec->family, "llama");
  EXPECT_EQ(spec->name, "Tiny");
  EXPECT_EQ(spec->vocab_size, 40);
  EXPECT_EQ(spec->hidden, 64);
  EXPECT_EQ(spec->context, 512);
  EXPECT_FLOAT_EQ(spec->norm.eps, 1e-5F);
  EXPECT_TRUE(spec->tied_head);
  EXPECT_EQ(spec->bos_token, 1);
  EXPECT_EQ(spec->eos_tokens, (std::vector<int32_t>{2}));
  ASSERT_EQ(spec->layers.size(), 2U);
  const AttentionSpec& attention = spec->layers[1].attention;
  EXPECT_EQ(attention.query_heads, 4);
  EXPECT_EQ(attention.kv_heads, 2);
  EXPECT_EQ(attention.head_dim, 16);
  EXPECT_EQ(attention.scale, 0.25F);
  EXPECT_FALSE(attention.qkv_bias);
  EXPECT_TRUE(attention.rope.interleaved);
  EXPECT_EQ(attention.rope.kind, RopeKind::kPlain);
  EXPECT_EQ(attention.rope.theta, 50000);
  EXPECT_EQ(attention.rope.rotary_dim, 16);
  EXPECT_EQ(spec->layers[1].mlp.intermediate, 96);
  EXPECT_EQ(spec->layers[1].layer_in_group, 1);
  ASSERT_EQ(spec->kv_groups.size(), 1U);
  EXPECT_EQ(spec->kv_groups[0].layers, (std::vector<int32_t>{0, 1}));
  EXPECT_EQ(spec->KvBytesPerToken(2), 2 * 2 * 2 * 16 * 2);
}

TEST(GgufSpec, FillsInWhatMayBeAbsent) {
  const auto spec = Read([](GgufContent& content) {
    for (const char* key : {"llama.attention.head_count_kv", "llama.rope.dimension_count",
                            "llama.rope.freq_base", "llama.vocab_size", "general.name",
                            "tokenizer.ggml.bos_token_id", "tokenizer.ggml.eos_token_id"}) {
      content.metadata.erase(key);
    }
  });
  ASSERT_TRUE(spec.ok()) << spec.status();
  EXPECT_EQ(spec->vocab_size, 40);  // from the embedding
  EXPECT_EQ(spec->layers[0].attention.kv_heads, 4);
  EXPECT_EQ(spec->layers[0].attention.rope.rotary_dim, 16);
  EXPECT_EQ(spec->layers[0].attention.rope.theta, 10000);
  EXPECT_EQ(spec->bos_token, -1);
  EXPECT_TRUE(spec->eos_tokens.empty());
}

TEST(GgufSpec, ReadsOptionalStructureFromTensors) {
  const auto spec = Read([](GgufContent& content) {
    content.tensors.push_back(ZeroTensor("output.weight", {40, 64}));
    content.tensors.push_back(ZeroTensor("blk.0.attn_q.bias", {64}));
    content.tensors.push_back(ZeroTensor("blk.0.attn_output.bias", {64}));
    content.tensors.push_back(ZeroTensor("blk.0.ffn_down.bias", {64}));
    GgufTensor factors = ZeroTensor("rope_freqs.weight", {8});
    for (size_t i = 0; i < 8; ++i) {
      const float factor = 1.0F + static_cast<float>(i);
      std::memcpy(factors.bytes.data() + i * sizeof(float), &factor, sizeof(float));
    }
    content.tensors.push_back(factors);
  });
  ASSERT_TRUE(spec.ok()) << spec.status();
  EXPECT_FALSE(spec->tied_head);
  EXPECT_TRUE(spec->layers[0].attention.qkv_bias);
  EXPECT_TRUE(spec->layers[0].attention.out_bias);
  EXPECT_TRUE(spec->layers[0].mlp.bias);
  EXPECT_EQ(spec->layers[0].attention.rope.freq_factors,
            (std::vector<float>{1, 2, 3, 4, 5, 6, 7, 8}));
}

TEST(GgufSpec, ReadsLinearScalingOwnHeadWidthListsAndEndOfTurn) {
  const auto spec = Read([](GgufContent& content) {
    content.metadata["llama.rope.scaling.type"] = std::string("linear");
    content.metadata["llama.rope.scaling.factor"] = 4.0F;
    content.metadata["llama.attention.key_length"] = uint32_t{24};
    content.metadata["llama.attention.value_length"] = uint32_t{24};
    content.metadata["llama.attention.head_count_kv"] = std::vector<int32_t>{2, 2};
    content.metadata["tokenizer.ggml.eot_token_id"] = uint32_t{7};
    content.metadata["llama.expert_count"] = uint32_t{0};
  });
  ASSERT_TRUE(spec.ok()) << spec.status();
  EXPECT_EQ(spec->layers[0].attention.rope.kind, RopeKind::kLinear);
  EXPECT_EQ(spec->layers[0].attention.rope.factor, 4);
  EXPECT_EQ(spec->layers[0].attention.head_dim, 24);
  EXPECT_EQ(spec->layers[0].attention.kv_heads, 2);
  EXPECT_EQ(spec->eos_tokens, (std::vector<int32_t>{2, 7}));
}

struct Refusal {
  std::string name;
  Change change;
  std::vector<std::string> words;  // of the message
};

std::vector<Refusal> Refusals() {
  return {
      {"AnotherArchitecture",
       Set("general.architecture", std::string("mamba")),
       {"general.architecture", "mamba", "llama (LlamaForCausalLM)"}},
      {"NoArchitecture", Erase("general.architecture"), {"general.architecture"}},
      {"NoLayers", Set("llama.block_count", uint32_t{0}), {"llama.block_count is 0"}},
      {"TooManyLayers",
       Set("llama.block_count", uint32_t{100000}),
       {"llama.block_count is 100000"}},
      {"NoLayerCount", Erase("llama.block_count"), {"llama.block_count"}},
      {"ZeroHeads",
       Set("llama.attention.head_count", uint32_t{0}),
       {"llama.attention.head_count is 0"}},
      {"MoreKvHeadsThanQueryHeads",
       Set("llama.attention.head_count_kv", uint32_t{8}),
       {"KV heads is 8"}},
      {"KvHeadsThatDoNotDivide",
       Set("llama.attention.head_count_kv", uint32_t{3}),
       {"query heads 4 are not a multiple of KV heads 3"}},
      {"HeadsOfDifferentNumberByLayer",
       Set("llama.attention.head_count_kv", std::vector<int32_t>{2, 4}),
       {"llama.attention.head_count_kv differs between layers", "2 and 4"}},
      {"AnEmptyList",
       Set("llama.attention.head_count_kv", std::vector<int32_t>{}),
       {"llama.attention.head_count_kv is an empty list"}},
      {"HiddenThatDoesNotDivide",
       Set("llama.embedding_length", uint32_t{66}),
       {"llama.embedding_length 66", "llama.attention.key_length is absent"}},
      {"UnequalKeyAndValue",
       Set("llama.attention.key_length", uint32_t{32}),
       {"llama.attention.value_length 16", "llama.attention.key_length 32"}},
      {"OddRopeDimensions",
       Set("llama.rope.dimension_count", uint32_t{7}),
       {"rope dimensions are 7, an odd number"}},
      {"RopeWiderThanTheHead",
       Set("llama.rope.dimension_count", uint32_t{18}),
       {"rope dimensions is 18"}},
      {"NegativeTheta", Set("llama.rope.freq_base", -1.0F), {"rope theta is -1"}},
      {"YarnWithoutFactor",
       Set("llama.rope.scaling.type", std::string("yarn")),
       {"llama.rope.scaling.factor"}},
      {"LinearWithoutFactor",
       Set("llama.rope.scaling.type", std::string("linear")),
       {"llama.rope.scaling.factor"}},
      {"Experts", Set("llama.expert_count", uint32_t{8}), {"llama.expert_count = 8"}},
      {"UnknownRope",
       Set("llama.rope.scaling.type", std::string("longrope")),
       {"llama.rope.scaling.type", "longrope", "not available yet"}},
      {"AlibiInALlama",
       Set("llama.attention.max_alibi_bias", 8.0F),
       {"llama.attention.max_alibi_bias = 8"}},
      {"NotCausal", Set("llama.attention.causal", false), {"llama.attention.causal = 0"}},
      {"LogitScale", Set("llama.logit_scale", 0.5F), {"llama.logit_scale = 0.5"}},
      {"WordWhereANumberBelongs",
       Set("llama.context_length", std::string("long")),
       {"llama.context_length"}},
      {"ZeroEpsilon", Set("llama.attention.layer_norm_rms_epsilon", 0.0F), {"norm epsilon is 0"}},
      {"EndTokenOutsideTheVocabulary",
       Set("tokenizer.ggml.eos_token_id", uint32_t{40}),
       {"tokenizer.ggml.eos_token_id is 40"}},
  };
}

class GgufSpecRefusals : public ::testing::TestWithParam<Refusal> {};

TEST_P(GgufSpecRefusals, NameTheKey) {
  const auto spec = Read(GetParam().change);
  ASSERT_FALSE(spec.ok());
  EXPECT_EQ(spec.status().code(), absl::StatusCode::kInvalidArgument) << spec.status();
  const std::string message(spec.status().message());
  for (const std::string& word : GetParam().words) {
    EXPECT_NE(message.find(word), std::string::npos) << "\"" << word << "\" not in: " << message;
  }
  EXPECT_NE(message.find("spec.gguf"), std::string::npos) << message;
}

INSTANTIATE_TEST_SUITE_P(All, GgufSpecRefusals, ::testing::ValuesIn(Refusals()),
                         [](const auto& row) { return row.param.name; });

TEST(GgufSpec, ASlidingWindowIsThatOfAllLayers) {
  const auto spec = Read(Set("llama.attention.sliding_window", uint32_t{128}));
  ASSERT_TRUE(spec.ok()) << spec.status();
  ASSERT_EQ(spec->kv_groups.size(), 1U);
  EXPECT_EQ(spec->kv_groups[0].window, 128);
  EXPECT_EQ(spec->layers[1].attention.window, 128);
}

TEST(GgufSpec, ReadsYarn) {
  const auto spec = Read([](GgufContent& content) {
    content.metadata["llama.rope.scaling.type"] = std::string("yarn");
    content.metadata["llama.rope.scaling.factor"] = 4.0F;
    content.metadata["llama.rope.scaling.original_context_length"] = uint32_t{128};
  });
  ASSERT_TRUE(spec.ok()) << spec.status();
  const RopeSpec& rope = spec->layers[0].attention.rope;
  EXPECT_EQ(rope.kind, RopeKind::kYarn);
  EXPECT_EQ(rope.factor, 4);
  EXPECT_EQ(rope.original_context, 128);
  EXPECT_DOUBLE_EQ(rope.magnitude, 0.1 * std::log(4.0) + 1);
}

TEST(GgufSpec, TakesMultipliersOfOneForAbsent) {
  EXPECT_TRUE(Read(Set("llama.logit_scale", 1.0F)).ok());
  EXPECT_TRUE(Read(Set("llama.rope.scaling.attn_factor", 1.0F)).ok());
  EXPECT_TRUE(Read(Set("llama.attention.causal", true)).ok());
  EXPECT_FALSE(Read(Set("llama.expert_count", uint32_t{1})).ok());
}

}  // namespace
}  // namespace shoal::model::testing
