// SPDX-License-Identifier: Apache-2.0
// Which tensor of a file each place of a decoder gets.
#include <fstream>
#include <memory>
#include <sstream>
#include <string>

#include "absl/strings/str_cat.h"
#include "base/safetensors/safetensors_file.h"
#include "gtest/gtest.h"
#include "model/spec/hf_spec.h"
#include "model/weights/model_weights.h"
#include "model/weights/tensor_directory.h"
#include "nlohmann/json.hpp"

namespace shoal::model {
namespace {

// A committed model directory whose description can be changed; its weights stay as they are.
class BoundModel : public ::testing::Test {
 protected:
  void Bind(const std::string& name, bool tied) {
    const std::string path = absl::StrCat(SHOAL_SOURCE_DIR, "/tests/golden/models/", name);
    std::stringstream text;
    text << std::ifstream(path + "/config.json").rdbuf();
    nlohmann::json config = nlohmann::json::parse(text.str());
    config["tie_word_embeddings"] = tied;
    const auto spec = SpecFromHfConfig(config.dump(), "");
    ASSERT_TRUE(spec.ok()) << spec.status();
    auto file = safetensors::SafetensorsFile::Open(path);
    ASSERT_TRUE(file.ok()) << file.status();
    file_ = *std::move(file);
    directory_ = std::make_unique<TensorDirectory>(TensorDirectory::Of(*file_));
    auto weights = BindWeights(*spec, *directory_, Container::kHuggingFace);
    ASSERT_TRUE(weights.ok()) << weights.status();
    weights_ = *std::move(weights);
  }
  const void* DataOf(const std::string& tensor) const {
    const TensorEntry* entry = directory_->Find(tensor);
    return entry == nullptr ? nullptr : entry->data;
  }

  std::unique_ptr<safetensors::SafetensorsFile> file_;
  std::unique_ptr<TensorDirectory> directory_;
  ModelWeights weights_;
};

TEST_F(BoundModel, HasItsOwnHeadWhenNotTied) {
  Bind("mha", /*tied=*/false);
  EXPECT_EQ(weights_.head.data, DataOf("lm_head.weight"));
  EXPECT_EQ(weights_.embedding.data, DataOf("model.embed_tokens.weight"));
}

TEST_F(BoundModel, UsesTheEmbeddingWhenTiedAlsoWhereTheFileCarriesAHead) {
  Bind("mha", /*tied=*/true);
  ASSERT_NE(DataOf("lm_head.weight"), nullptr);
  EXPECT_EQ(weights_.head.data, DataOf("model.embed_tokens.weight"));
  EXPECT_EQ(weights_.head.rows, weights_.embedding.rows);
  EXPECT_EQ(weights_.head.cols, weights_.embedding.cols);
}

TEST_F(BoundModel, TakesEveryTensorOfALayerByItsName) {
  Bind("gqa-bias", /*tied=*/true);
  for (size_t i = 0; i < weights_.layers.size(); ++i) {
    const LayerWeights& layer = weights_.layers[i];
    const std::string prefix = absl::StrCat("model.layers.", i, ".");
    EXPECT_EQ(layer.attention_norm.weight.data, DataOf(prefix + "input_layernorm.weight"));
    EXPECT_EQ(layer.mlp_norm.weight.data, DataOf(prefix + "post_attention_layernorm.weight"));
    const auto expect = [&](const LinearWeights& linear, const std::vector<std::string>& names) {
      ASSERT_EQ(linear.parts.size(), names.size());
      ASSERT_EQ(linear.bias.size(), names.size());
      for (size_t k = 0; k < names.size(); ++k) {
        EXPECT_EQ(linear.parts[k].data, DataOf(prefix + names[k] + ".weight")) << names[k];
        EXPECT_EQ(linear.bias[k].data, DataOf(prefix + names[k] + ".bias")) << names[k];
      }
    };
    expect(layer.qkv, {"self_attn.q_proj", "self_attn.k_proj", "self_attn.v_proj"});
    expect(layer.o, {"self_attn.o_proj"});
    expect(layer.gate_up, {"mlp.gate_proj", "mlp.up_proj"});
    expect(layer.down, {"mlp.down_proj"});
  }
}

}  // namespace
}  // namespace shoal::model
