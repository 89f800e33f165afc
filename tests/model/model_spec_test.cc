// SPDX-License-Identifier: Apache-2.0
#include "model/spec/model_spec.h"

#include <functional>
#include <limits>
#include <string>
#include <vector>

#include "gtest/gtest.h"
#include "model/spec/decoder_shape.h"

namespace shoal::model::testing {
namespace {

DecoderShape GoodShape() {
  DecoderShape shape;
  shape.family = "llama";
  shape.name = "good";
  shape.vocab_size = 100;
  shape.hidden = 64;
  shape.layers = 3;
  shape.query_heads = 4;
  shape.kv_heads = 2;
  shape.head_dim = 16;
  shape.intermediate = 96;
  shape.context = 512;
  shape.norm_eps = 1e-5;
  shape.rope.rotary_dim = 16;
  return shape;
}

ModelSpec Good() { return MakeSpec(GoodShape()); }

TEST(ModelSpec, OfAUniformStackIsValidAndHasOneKvGroup) {
  const ModelSpec spec = Good();
  EXPECT_TRUE(Validate(spec).ok()) << Validate(spec);
  ASSERT_EQ(spec.kv_groups.size(), 1U);
  EXPECT_EQ(spec.KvBytesPerToken(2), 3 * 2 * 2 * 16 * 2);
  EXPECT_EQ(spec.KvBytesPerToken(4), 2 * spec.KvBytesPerToken(2));
}

TEST(ModelSpec, CountsKvBytesOverGroupsOfDifferentShape) {
  ModelSpec spec = Good();
  spec.kv_groups = {{.window = 0, .kv_heads = 2, .head_dim = 16, .layers = {0}},
                    {.window = 64, .kv_heads = 1, .head_dim = 32, .layers = {1, 2}}};
  for (size_t i = 1; i < 3; ++i) {
    spec.layers[i].attention.window = 64;
    spec.layers[i].attention.kv_heads = 1;
    spec.layers[i].attention.head_dim = 32;
    spec.layers[i].kv_group = 1;
    spec.layers[i].layer_in_group = static_cast<int32_t>(i) - 1;
  }
  spec.layers[0].layer_in_group = 0;
  EXPECT_TRUE(Validate(spec).ok()) << Validate(spec);
  EXPECT_EQ(spec.KvBytesPerToken(2), 2 * 2 * (2 * 16 + 2 * 32));
}

TEST(ModelSpec, PutsSlidingLayersInAGroupOfTheirOwn) {
  DecoderShape shape = GoodShape();
  shape.family = "gemma3";
  shape.layers = 4;
  shape.window = 32;
  shape.slides = {true, false, true, true};
  const ModelSpec mixed = MakeSpec(shape);
  EXPECT_TRUE(Validate(mixed).ok()) << Validate(mixed);
  ASSERT_EQ(mixed.kv_groups.size(), 2U);
  EXPECT_EQ(mixed.kv_groups[0].window, 0);
  EXPECT_EQ(mixed.kv_groups[0].layers, (std::vector<int32_t>{1}));
  EXPECT_EQ(mixed.kv_groups[1].window, 32);
  EXPECT_EQ(mixed.kv_groups[1].layers, (std::vector<int32_t>{0, 2, 3}));
  shape.slides.clear();
  const ModelSpec all = MakeSpec(shape);
  EXPECT_TRUE(Validate(all).ok()) << Validate(all);
  ASSERT_EQ(all.kv_groups.size(), 1U);
  EXPECT_EQ(all.kv_groups[0].window, 32);
}

TEST(ModelSpec, AlibiSlopesFollowThePowersOfTwo) {
  EXPECT_EQ(AlibiSlopes(4), (std::vector<float>{0.25F, 0.0625F, 0.015625F, 0.00390625F}));
  // Beyond a power of two: the odd slopes of twice as many heads.
  EXPECT_EQ(AlibiSlopes(6),
            (std::vector<float>{0.25F, 0.0625F, 0.015625F, 0.00390625F, 0.5F, 0.125F}));
  EXPECT_EQ(AlibiSlopes(1), (std::vector<float>{0.00390625F}));
}

struct Fault {
  std::string name;
  std::function<void(ModelSpec&)> plant;
  std::string words;
};

std::vector<Fault> Faults() {
  const double infinity = std::numeric_limits<double>::infinity();
  return {
      {"NoFamily", [](ModelSpec& s) { s.family.clear(); }, "family"},
      {"NoVocabulary", [](ModelSpec& s) { s.vocab_size = 0; }, "vocabulary size is 0"},
      {"NegativeHidden", [](ModelSpec& s) { s.hidden = -1; }, "hidden size is -1"},
      {"HugeContext", [](ModelSpec& s) { s.context = int64_t{1} << 40; }, "context is"},
      {"NanEpsilon", [](ModelSpec& s) { s.norm.eps = std::numeric_limits<float>::quiet_NaN(); },
       "norm epsilon"},
      {"ZeroEmbeddingScale", [](ModelSpec& s) { s.embedding_scale = 0; }, "embedding scale is 0"},
      {"NoLayers",
       [](ModelSpec& s) {
         s.layers.clear();
         s.kv_groups.clear();
       },
       "the number of layers is 0"},
      {"LayerInNoGroup", [](ModelSpec& s) { s.kv_groups[0].layers.pop_back(); },
       "the KV groups list 2 layers of 3"},
      {"GroupThatIsNot", [](ModelSpec& s) { s.layers[1].kv_group = 1; },
       "layer 1: KV group 1 does not exist"},
      {"WrongPlaceInTheGroup", [](ModelSpec& s) { s.layers[1].layer_in_group = 2; },
       "layer 1: KV group 0 does not describe"},
      {"GroupOfOtherHeads", [](ModelSpec& s) { s.kv_groups[0].kv_heads = 4; },
       "layer 0: KV group 0 does not describe"},
      {"NoMlp", [](ModelSpec& s) { s.layers[2].mlp.intermediate = 0; }, "layer 2: MLP width is 0"},
      {"InfiniteScale",
       [](ModelSpec& s) { s.layers[0].attention.scale = std::numeric_limits<float>::infinity(); },
       "layer 0: attention scale is inf"},
      {"InfiniteTheta", [=](ModelSpec& s) { s.layers[0].attention.rope.theta = infinity; },
       "rope theta is inf"},
      {"NegativeWindow", [](ModelSpec& s) { s.layers[0].attention.window = -1; }, "window is -1"},
      {"NegativeSoftcap", [](ModelSpec& s) { s.layers[0].attention.softcap = -1; },
       "softcap is -1"},
      {"FactorsOfAnotherWidth",
       [](ModelSpec& s) {
         s.layers[0].attention.rope.freq_factors = {1, 2};
       },
       "2 frequency factors, but 8 rotated pairs"},
      {"ZeroFactor",
       [](ModelSpec& s) { s.layers[0].attention.rope.freq_factors = {1, 1, 1, 0, 1, 1, 1, 1}; },
       "a rope frequency factor is 0"},
      {"LongFactorsOfAnotherWidth",
       [](ModelSpec& s) {
         s.layers[0].attention.rope.long_freq_factors = {1, 2, 3};
       },
       "3 frequency factors, but 8 rotated pairs"},
      {"YarnWithoutABase",
       [](ModelSpec& s) {
         s.layers[0].attention.rope.kind = RopeKind::kYarn;
         s.layers[0].attention.rope.theta = 1;
       },
       "yarn needs one above 1"},
      {"NegativeMagnitude", [](ModelSpec& s) { s.layers[0].attention.rope.magnitude = -1; },
       "rope magnitude is -1"},
      {"AlibiAndRope", [](ModelSpec& s) { s.layers[0].attention.alibi = true; },
       "both ALiBi and rotary"},
      {"SiluWithoutAGate", [](ModelSpec& s) { s.layers[0].mlp.gated = false; },
       "an MLP without a gate must use GELU"},
      {"NegativeFinalSoftcap", [](ModelSpec& s) { s.final_softcap = -1; }, "final softcap is -1"},
      {"BosOutside", [](ModelSpec& s) { s.bos_token = 100; }, "BOS token 100"},
      {"EosOutside",
       [](ModelSpec& s) {
         s.eos_tokens = {1, -1};
       },
       "EOS token -1"},
  };
}

class ModelSpecFaults : public ::testing::TestWithParam<Fault> {};

TEST_P(ModelSpecFaults, AreNamed) {
  ModelSpec spec = Good();
  GetParam().plant(spec);
  const absl::Status status = Validate(spec);
  EXPECT_EQ(status.code(), absl::StatusCode::kInvalidArgument) << status;
  EXPECT_NE(std::string(status.message()).find(GetParam().words), std::string::npos) << status;
}

INSTANTIATE_TEST_SUITE_P(All, ModelSpecFaults, ::testing::ValuesIn(Faults()),
                         [](const auto& row) { return row.param.name; });

}  // namespace
}  // namespace shoal::model::testing
