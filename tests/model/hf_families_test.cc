// SPDX-License-Identifier: Apache-2.0
// What the families read from config.json beyond the common keys, in both spellings.
#include <cmath>
#include <fstream>
#include <sstream>
#include <string>
#include <vector>

#include "absl/strings/str_cat.h"
#include "gtest/gtest.h"
#include "model/spec/hf_spec.h"
#include "nlohmann/json.hpp"

namespace shoal::model::testing {
namespace {

using Json = nlohmann::json;

std::string ReadFile(const std::string& path) {
  std::ifstream stream(path);
  EXPECT_TRUE(stream.good()) << path;
  std::stringstream text;
  text << stream.rdbuf();
  return text.str();
}

absl::StatusOr<ModelSpec> Read(const std::string& architecture, const std::string& changes) {
  Json config = Json::parse(R"({
    "vocab_size": 320, "hidden_size": 64, "intermediate_size": 96, "num_hidden_layers": 4,
    "num_attention_heads": 4, "num_key_value_heads": 2, "max_position_embeddings": 4096,
    "rms_norm_eps": 1e-06})");
  config["architectures"] = Json::array({architecture});
  config.update(Json::parse(changes));
  return SpecFromHfConfig(config.dump(), "");
}

std::vector<int64_t> Windows(const absl::StatusOr<ModelSpec>& spec) {
  EXPECT_TRUE(spec.ok()) << spec.status();
  std::vector<int64_t> windows;
  if (!spec.ok()) return windows;
  for (const LayerSpec& layer : spec->layers) windows.push_back(layer.attention.window);
  return windows;
}

using List = std::vector<int64_t>;

class ConfigSpellings : public ::testing::TestWithParam<std::string> {};

TEST_P(ConfigSpellings, OfTransformers4And5MeanTheSame) {
  const std::string folder =
      absl::StrCat(SHOAL_SOURCE_DIR, "/tests/golden/models/", GetParam(), "/");
  const std::string five = ReadFile(folder + "config.json");
  const std::string four = ReadFile(folder + "config-transformers-4.json");
  ASSERT_NE(five, four);
  EXPECT_EQ(Json::parse(four).count("rope_parameters"), 0U);
  const auto a = SpecFromHfConfig(five, "");
  const auto b = SpecFromHfConfig(four, "");
  ASSERT_TRUE(a.ok()) << a.status();
  ASSERT_TRUE(b.ok()) << b.status();
  EXPECT_TRUE(*a == *b);
}

INSTANTIATE_TEST_SUITE_P(Goldens, ConfigSpellings,
                         ::testing::Values("mistral-window", "qwen2-window", "qwen3-yarn",
                                           "phi3-longrope", "gemma3-window", "bloom-alibi"),
                         [](const auto& row) {
                           std::string name = row.param;
                           for (char& c : name) c = c == '-' ? '_' : c;
                           return name;
                         });

TEST(HfFamilies, MistralSlidesByDefaultAndNotWithNull) {
  EXPECT_EQ(Windows(Read("MistralForCausalLM", "{}")), (List{4096, 4096, 4096, 4096}));
  EXPECT_EQ(Windows(Read("MistralForCausalLM", R"({"sliding_window": 9})")), (List{9, 9, 9, 9}));
  EXPECT_EQ(Windows(Read("MistralForCausalLM", R"({"sliding_window": null})")), (List{0, 0, 0, 0}));
}

TEST(HfFamilies, QwenSlidesOnlyIfAskedToAndFromItsFirstWindowLayerOn) {
  for (const char* architecture : {"Qwen2ForCausalLM", "Qwen3ForCausalLM"}) {
    EXPECT_EQ(Windows(Read(architecture, R"({"sliding_window": 9, "max_window_layers": 0})")),
              (List{0, 0, 0, 0}));
    EXPECT_EQ(Windows(Read(architecture, R"({"sliding_window": 9, "use_sliding_window": true,
                                             "max_window_layers": 3})")),
              (List{0, 0, 0, 9}));
    EXPECT_EQ(Windows(Read(architecture, R"({"sliding_window": 9, "use_sliding_window": true})")),
              (List{0, 0, 0, 0}));  // the default is layer 28
    EXPECT_EQ(Windows(Read(architecture,
                           R"({"sliding_window": 9, "use_sliding_window": true,
                               "layer_types": ["sliding_attention", "full_attention",
                                               "full_attention", "sliding_attention"]})")),
              (List{9, 0, 0, 9}));
  }
}

TEST(HfFamilies, Qwen2HasABiasWithoutAKeyAndQwen3NormsOfQAndK) {
  const auto two = Read("Qwen2ForCausalLM", "{}");
  ASSERT_TRUE(two.ok()) << two.status();
  EXPECT_TRUE(two->layers[0].attention.qkv_bias);
  EXPECT_FALSE(two->layers[0].attention.out_bias);
  EXPECT_FALSE(two->layers[0].attention.qk_norm);
  const auto three = Read("Qwen3ForCausalLM", "{}");
  ASSERT_TRUE(three.ok()) << three.status();
  EXPECT_FALSE(three->layers[0].attention.qkv_bias);
  EXPECT_TRUE(three->layers[0].attention.qk_norm);
  EXPECT_EQ(three->layers[0].attention.head_dim, 128);
}

TEST(HfFamilies, Phi3RotatesAPartAndKeepsBothSetsOfFactors) {
  const auto spec = Read("Phi3ForCausalLM", R"({
      "num_attention_heads": 2, "partial_rotary_factor": 0.25, "max_position_embeddings": 65536,
      "original_max_position_embeddings": 4096,
      "rope_scaling": {"type": "yarn", "short_factor": [1, 1, 1, 2],
                       "long_factor": [1, 2, 3, 4]}})");
  ASSERT_TRUE(spec.ok()) << spec.status();
  const RopeSpec& rope = spec->layers[0].attention.rope;
  EXPECT_EQ(rope.kind, RopeKind::kPlain);
  EXPECT_EQ(rope.rotary_dim, 8);
  EXPECT_EQ(rope.freq_factors, (std::vector<float>{1, 1, 1, 2}));
  EXPECT_EQ(rope.long_freq_factors, (std::vector<float>{1, 2, 3, 4}));
  EXPECT_EQ(rope.original_context, 4096);
  EXPECT_DOUBLE_EQ(rope.magnitude, std::sqrt(1 + std::log(16.0) / std::log(4096.0)));
}

TEST(HfFamilies, Gemma3FillsInItsDefaultsAndRoundsTheEmbeddingScale) {
  const auto spec = Read("Gemma3ForCausalLM", R"({"num_hidden_layers": 7, "hidden_size": 1152,
      "torch_dtype": "bfloat16", "sliding_window": 512, "attn_logit_softcapping": 50.0,
      "rope_scaling": {"factor": 8.0, "rope_type": "linear"}})");
  EXPECT_EQ(Windows(spec), (List{512, 512, 512, 512, 512, 0, 512}));
  ASSERT_TRUE(spec.ok()) << spec.status();
  EXPECT_EQ(spec->embedding_scale, 34.0F);  // of sqrt(1152) = 33.94
  EXPECT_EQ(spec->norm.offset, 1);
  EXPECT_TRUE(spec->tied_head);
  EXPECT_TRUE(spec->post_norms);
  const AttentionSpec& local = spec->layers[0].attention;
  const AttentionSpec& global = spec->layers[5].attention;
  EXPECT_EQ(local.rope.kind, RopeKind::kPlain);
  EXPECT_EQ(local.rope.theta, 10000);
  EXPECT_EQ(global.rope.kind, RopeKind::kLinear);
  EXPECT_EQ(global.rope.theta, 1000000);
  EXPECT_EQ(global.rope.factor, 8);
  EXPECT_EQ(local.scale, 0.0625F);
  EXPECT_EQ(local.softcap, 50);
  EXPECT_EQ(local.head_dim, 256);
  ASSERT_EQ(spec->kv_groups.size(), 2U);
}

TEST(HfFamilies, RefuseWhatTheyCannotRunByName) {
  const struct {
    const char* architecture;
    const char* changes;
    const char* words;
  } rows[] = {
      {"MistralForCausalLM", R"({"sliding_window": -1})", "sliding_window = -1"},
      {"Qwen2ForCausalLM", R"({"layer_types": ["sliding_attention"]})", "layer_types"},
      {"Qwen3ForCausalLM", R"({"layer_types": ["full_attention", "full_attention",
                                               "full_attention", "chunked_attention"]})",
       R"(layer_types = "chunked_attention")"},
      {"Phi3ForCausalLM", R"({"partial_rotary_factor": 1.5})", "partial_rotary_factor = 1.5"},
      {"Gemma3ForCausalLM", R"({"hidden_activation": "gelu"})", "hidden_activation"},
      {"Gemma3ForCausalLM", R"({"use_bidirectional_attention": true})",
       "use_bidirectional_attention"},
      {"Gemma3ForCausalLM", R"({"sliding_window": null})", "sliding_window"},
      {"BloomForCausalLM", R"({"n_head": 4, "apply_residual_connection_post_layernorm": true})",
       "apply_residual_connection_post_layernorm"},
  };
  for (const auto& row : rows) {
    const auto spec = Read(row.architecture, row.changes);
    ASSERT_FALSE(spec.ok()) << row.changes;
    EXPECT_NE(std::string(spec.status().message()).find(row.words), std::string::npos)
        << spec.status();
  }
}

}  // namespace
}  // namespace shoal::model::testing
