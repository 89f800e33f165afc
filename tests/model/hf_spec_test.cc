// SPDX-License-Identifier: Apache-2.0
#include "model/spec/hf_spec.h"

#include <string>
#include <vector>

#include "gtest/gtest.h"
#include "nlohmann/json.hpp"

namespace shoal::model::testing {
namespace {

using Json = nlohmann::json;

Json Base() {
  return Json::parse(R"({
    "architectures": ["LlamaForCausalLM"], "model_type": "llama",
    "vocab_size": 320, "hidden_size": 64, "intermediate_size": 96, "num_hidden_layers": 3,
    "num_attention_heads": 4, "num_key_value_heads": 2, "max_position_embeddings": 4096,
    "rms_norm_eps": 1e-05, "hidden_act": "silu", "bos_token_id": 1, "eos_token_id": 2})");
}

// Base with some keys replaced; a null erases nothing: it stays, as files write it.
absl::StatusOr<ModelSpec> Read(const std::string& changes, const std::string& generation = "") {
  Json config = Base();
  config.update(Json::parse(changes));
  return SpecFromHfConfig(config.dump(), generation);
}

RopeSpec Rope(const std::string& changes) {
  const auto spec = Read(changes);
  EXPECT_TRUE(spec.ok()) << spec.status();
  return spec.ok() ? spec->layers[0].attention.rope : RopeSpec{};
}

TEST(HfSpec, ReadsTheWholeDescription) {
  const auto spec = Read(R"({"rope_theta": 500000.0, "head_dim": 24, "torch_dtype": "bfloat16",
                             "tie_word_embeddings": true, "_name_or_path": "org/model"})");
  ASSERT_TRUE(spec.ok()) << spec.status();
  EXPECT_EQ(spec->family, "llama");
  EXPECT_EQ(spec->name, "org/model");
  EXPECT_EQ(spec->vocab_size, 320);
  EXPECT_EQ(spec->hidden, 64);
  EXPECT_EQ(spec->context, 4096);
  EXPECT_FLOAT_EQ(spec->norm.eps, 1e-5F);
  EXPECT_TRUE(spec->tied_head);
  EXPECT_EQ(spec->bos_token, 1);
  EXPECT_EQ(spec->eos_tokens, (std::vector<int32_t>{2}));
  ASSERT_EQ(spec->layers.size(), 3U);
  EXPECT_EQ(spec->layers[2].attention.query_heads, 4);
  EXPECT_EQ(spec->layers[2].attention.kv_heads, 2);
  EXPECT_EQ(spec->layers[2].attention.head_dim, 24);
  EXPECT_EQ(spec->layers[2].attention.rope.theta, 500000);
  EXPECT_FALSE(spec->layers[2].attention.rope.interleaved);
  EXPECT_EQ(spec->layers[2].mlp.intermediate, 96);
}

TEST(HfSpec, TakesAbsentAndNullForTheDefault) {
  const auto spec = Read(R"({"head_dim": null, "num_key_value_heads": null, "rope_scaling": null,
                             "quantization_config": null, "sliding_window": null,
                             "pretraining_tp": 1, "bos_token_id": null, "eos_token_id": null})");
  ASSERT_TRUE(spec.ok()) << spec.status();
  EXPECT_EQ(spec->layers[0].attention.head_dim, 16);
  EXPECT_EQ(spec->layers[0].attention.kv_heads, 4);
  EXPECT_EQ(spec->layers[0].attention.rope.kind, RopeKind::kPlain);
  EXPECT_EQ(spec->layers[0].attention.rope.theta, 10000);
  EXPECT_FALSE(spec->tied_head);
  EXPECT_FALSE(spec->layers[0].attention.qkv_bias);
  EXPECT_EQ(spec->bos_token, -1);
  EXPECT_TRUE(spec->eos_tokens.empty());
}

TEST(HfSpec, AttentionBiasCoversTheOutputProjectionAndMlpBiasIsItsOwn) {
  const auto attention = Read(R"({"attention_bias": true})");
  ASSERT_TRUE(attention.ok()) << attention.status();
  EXPECT_TRUE(attention->layers[0].attention.qkv_bias);
  EXPECT_TRUE(attention->layers[0].attention.out_bias);
  EXPECT_FALSE(attention->layers[0].mlp.bias);
  const auto mlp = Read(R"({"mlp_bias": true})");
  ASSERT_TRUE(mlp.ok()) << mlp.status();
  EXPECT_FALSE(mlp->layers[0].attention.qkv_bias);
  EXPECT_TRUE(mlp->layers[0].mlp.bias);
}

TEST(HfSpec, ReadsRopeInTheSpellingsOfBothVersions) {
  const std::string llama3 = R"("factor": 8.0, "low_freq_factor": 1.0, "high_freq_factor": 4.0,
                                "original_max_position_embeddings": 1024)";
  RopeSpec wanted{.kind = RopeKind::kLlama3,
                  .theta = 500000,
                  .rotary_dim = 16,
                  .interleaved = false,
                  .factor = 8,
                  .low_freq_factor = 1,
                  .high_freq_factor = 4,
                  .original_context = 1024,
                  .freq_factors = {}};
  EXPECT_EQ(
      Rope(R"({"rope_theta": 500000.0, "rope_scaling": {"rope_type": "llama3", )" + llama3 + "}}"),
      wanted);
  EXPECT_EQ(Rope(R"({"rope_theta": 500000.0, "rope_scaling": {"type": "llama3", )" + llama3 + "}}"),
            wanted);
  EXPECT_EQ(Rope(R"({"rope_parameters": {"rope_theta": 500000.0, "rope_type": "llama3", )" +
                 llama3 + "}}"),
            wanted);
  RopeSpec linear;
  linear.kind = RopeKind::kLinear;
  linear.rotary_dim = 16;
  linear.factor = 2;
  EXPECT_EQ(Rope(R"({"rope_scaling": {"type": "linear", "factor": 2.0}})"), linear);
  EXPECT_EQ(Rope(R"({"rope_parameters": {"rope_type": "linear", "factor": 2}})"), linear);
  EXPECT_EQ(Rope(R"({"rope_parameters": {"rope_type": "default", "rope_theta": 7.5}})").theta, 7.5);
}

TEST(HfSpec, GenerationConfigIsAuthoritativeForEndTokens) {
  const auto spec = Read("{}", R"({"eos_token_id": [5, 6, 5], "bos_token_id": 3})");
  ASSERT_TRUE(spec.ok()) << spec.status();
  EXPECT_EQ(spec->eos_tokens, (std::vector<int32_t>{5, 6}));
  EXPECT_EQ(spec->bos_token, 3);
  const auto silent = Read(R"({"eos_token_id": [8, 9]})", R"({"temperature": 0.6})");
  ASSERT_TRUE(silent.ok()) << silent.status();
  EXPECT_EQ(silent->eos_tokens, (std::vector<int32_t>{8, 9}));
}

TEST(HfSpec, TheModelTypeSufficesWithoutArchitectures) {
  Json config = Base();
  config.erase("architectures");
  EXPECT_TRUE(SpecFromHfConfig(config.dump(), "").ok());
  config.erase("model_type");
  EXPECT_FALSE(SpecFromHfConfig(config.dump(), "").ok());
}

struct Refusal {
  std::string name;
  std::string changes;
  std::string words;  // of the message
  std::string generation;
};

std::vector<Refusal> Refusals() {
  return {
      {"AnotherArchitecture", R"({"architectures": ["MambaForCausalLM"]})",
       R"(architectures = ["MambaForCausalLM"]: built families: llama (LlamaForCausalLM), mistral)",
       ""},
      {"TwoArchitectures", R"({"architectures": ["LlamaForCausalLM", "Other"]})", "architectures",
       ""},
      {"ANumberAsArchitecture", R"({"architectures": 7})", "architectures = 7", ""},
      {"AnotherActivation", R"({"hidden_act": "gelu"})",
       R"(hidden_act = "gelu": not available yet)", ""},
      {"PretrainingTp", R"({"pretraining_tp": 2})", "pretraining_tp = 2", ""},
      {"Quantised", R"({"quantization_config": {"quant_method": "awq"}})", "quantization_config",
       ""},
      {"SlidingWindow", R"({"sliding_window": 4096})", "sliding_window = 4096", ""},
      {"SlidingLayers", R"({"layer_types": ["full_attention", "sliding_attention"]})",
       R"(layer_types = "sliding_attention")", ""},
      {"PartialRotary", R"({"partial_rotary_factor": 0.5})", "partial_rotary_factor = 0.5", ""},
      {"Softcap", R"({"final_logit_softcapping": 30.0})", "final_logit_softcapping = 30.0", ""},
      {"Experts", R"({"num_local_experts": 8})", "num_local_experts = 8", ""},
      {"UnknownRope", R"({"rope_scaling": {"rope_type": "proportional", "factor": 4.0}})",
       R"(rope_scaling.rope_type = "proportional": not available yet)", ""},
      {"UnknownRopeInTheOldSpelling", R"({"rope_scaling": {"type": "su", "factor": 4.0}})",
       R"(rope_scaling.type = "su")", ""},
      {"LongRopeWithoutFactors", R"({"rope_scaling": {"type": "longrope", "factor": 4.0}})",
       "rope_scaling lacks short_factor or long_factor", ""},
      {"LongRopeWithItsOwnMagnitudes",
       R"({"rope_scaling": {"type": "longrope", "short_mscale": 1.2}})",
       "rope_scaling.short_mscale = 1.2", ""},
      {"RopePerLayerType", R"({"rope_parameters": {"full_attention": {"rope_theta": 1e4}}})",
       "one per layer type is not available for this family", ""},
      {"LinearWithoutFactor", R"({"rope_scaling": {"type": "linear"}})",
       "rope_scaling.factor is absent", ""},
      {"Llama3WithoutLowFactor",
       R"({"rope_parameters": {"rope_type": "llama3", "factor": 8, "high_freq_factor": 4}})",
       "rope_parameters.low_freq_factor is absent", ""},
      {"Llama3WithEqualFactors",
       R"({"rope_parameters": {"rope_type": "llama3", "factor": 8, "high_freq_factor": 4,
           "low_freq_factor": 4}})",
       "high_freq_factor 4 must be above low_freq_factor 4", ""},
      {"RopeThatIsNoObject", R"({"rope_scaling": [1]})", "rope_scaling = [1]: must be an object",
       ""},
      {"NegativeFactor", R"({"rope_scaling": {"type": "linear", "factor": -2}})",
       "rope factor is -2", ""},
      {"NoHiddenSize", R"({"hidden_size": null})", "hidden_size is absent", ""},
      {"ZeroLayers", R"({"num_hidden_layers": 0})", "num_hidden_layers = 0", ""},
      {"HugeLayers", R"({"num_hidden_layers": 100000})", "num_hidden_layers = 100000", ""},
      {"HugeVocabulary", R"({"vocab_size": 18446744073709551615})", "vocab_size = 184467", ""},
      {"FractionalHeads", R"({"num_attention_heads": 4.5})", "num_attention_heads = 4.5", ""},
      {"KvHeadsThatDoNotDivide", R"({"num_key_value_heads": 3})",
       "query heads 4 are not a multiple of KV heads 3", ""},
      {"HiddenThatDoesNotDivide", R"({"hidden_size": 66})", "hidden_size 66 is not a multiple", ""},
      {"OddHead", R"({"head_dim": 15})", "rope dimensions are 15, an odd number", ""},
      {"BiasThatIsNoBool", R"({"attention_bias": 1})", "attention_bias = 1", ""},
      {"UnknownDtype", R"({"dtype": "float8_e4m3fn"})", R"(dtype = "float8_e4m3fn")", ""},
      {"EndTokenOutside", R"({"eos_token_id": [2, 320]})", "eos_token_id = [2,320]", ""},
      {"EndTokenOutsideInGeneration", "{}", "eos_token_id = -1", R"({"eos_token_id": -1})"},
      {"GenerationThatIsNoJson", "{}", "generation_config.json is not valid JSON", "{"},
  };
}

class HfSpecRefusals : public ::testing::TestWithParam<Refusal> {};

TEST_P(HfSpecRefusals, NameTheKey) {
  const auto spec = Read(GetParam().changes, GetParam().generation);
  ASSERT_FALSE(spec.ok());
  EXPECT_EQ(spec.status().code(), absl::StatusCode::kInvalidArgument) << spec.status();
  EXPECT_NE(std::string(spec.status().message()).find(GetParam().words), std::string::npos)
      << spec.status();
}

INSTANTIATE_TEST_SUITE_P(All, HfSpecRefusals, ::testing::ValuesIn(Refusals()),
                         [](const auto& row) { return row.param.name; });

TEST(HfSpec, RefusesTextThatIsNoObject) {
  for (const char* text : {"", "{", "[]", "7", "null", "{\"a\":}", "\xff\xfe"}) {
    const auto spec = SpecFromHfConfig(text, "");
    ASSERT_FALSE(spec.ok()) << text;
    EXPECT_NE(std::string(spec.status().message()).find("config.json"), std::string::npos);
  }
  // Deep nesting must not exhaust the stack.
  EXPECT_FALSE(SpecFromHfConfig(std::string(200000, '['), "").ok());
}

TEST(HfSpec, NeverFailsOtherwiseOnRandomEdits) {
  // Every key in turn gets every kind of value: an error or a spec, never a crash.
  const Json base = Base();
  for (const auto& [key, unused] : base.items()) {
    for (const char* value : {"null", "0", "-1", "1e300", "true", "\"x\"", "[]", "{}", "[[]]",
                              "9223372036854775807", "18446744073709551615"}) {
      Json config = base;
      config[key] = Json::parse(value);
      const auto spec = SpecFromHfConfig(config.dump(), config.dump());
      EXPECT_TRUE(!spec.ok() || Validate(*spec).ok());
    }
  }
}

}  // namespace
}  // namespace shoal::model::testing
