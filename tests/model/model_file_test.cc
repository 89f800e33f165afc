// SPDX-License-Identifier: Apache-2.0
// Opening models: what is bound, what the digest tells apart, and directories that are broken.
#include <filesystem>
#include <fstream>
#include <functional>
#include <memory>
#include <sstream>
#include <string>
#include <vector>

#include "absl/strings/str_cat.h"
#include "gtest/gtest.h"
#include "model/decoder.h"
#include "model/gguf_writer.h"
#include "nlohmann/json.hpp"

namespace shoal::model::testing {
namespace {

namespace fs = std::filesystem;
using Json = nlohmann::json;

std::string Golden(const std::string& name) {
  return absl::StrCat(SHOAL_SOURCE_DIR, "/tests/golden/models/", name);
}

std::string ReadAll(const fs::path& path) {
  std::ifstream file(path, std::ios::binary);
  std::ostringstream text;
  text << file.rdbuf();
  return text.str();
}

void WriteAll(const fs::path& path, const std::string& text) {
  std::ofstream(path, std::ios::binary) << text;
}

// The error of opening `path`; "" where it opens.
std::string Error(const std::string& path) {
  const auto file = OpenModel(path);
  return file.ok() ? "" : std::string(file.status().message());
}

std::string GgufError(const std::function<void(GgufContent&)>& change) {
  GgufContent content = TinyLlamaGguf();
  change(content);
  return Error(WriteTemporary("model.gguf", EncodeGguf(content)));
}

GgufTensor& Tensor(GgufContent& content, const std::string& name) {
  for (GgufTensor& tensor : content.tensors) {
    if (tensor.name == name) return tensor;
  }
  ADD_FAILURE() << name;
  return content.tensors.front();
}

#define EXPECT_HAS(message, words)                    \
  EXPECT_NE((message).find(words), std::string::npos) \
      << "\"" << (words) << "\" not in: " << (message)

TEST(ModelFile, OpensBothContainersAndListsTheirTensors) {
  const auto hf = OpenModel(Golden("mha"));
  ASSERT_TRUE(hf.ok()) << hf.status();
  EXPECT_EQ((*hf)->spec().name, "mha");
  EXPECT_EQ((*hf)->spec().eos_tokens, (std::vector<int32_t>{2, 0}));
  EXPECT_EQ((*hf)->tensors().size(), 2U * 9 + 3);
  EXPECT_EQ((*hf)->tensors()[0].type, "F32");
  const auto gguf = OpenModel(Golden("tiny-q4_1/tiny-q4_1.gguf"));
  ASSERT_TRUE(gguf.ok()) << gguf.status();
  EXPECT_EQ((*gguf)->tensors().size(), 2U * 9 + 3);
  for (const ModelFile::TensorInfo& tensor : (*gguf)->tensors()) {
    if (tensor.name != "blk.1.ffn_down.weight") continue;
    EXPECT_EQ(tensor.type, "Q4_1");
    EXPECT_EQ(tensor.shape, (std::vector<int64_t>{96, 224}));
    EXPECT_EQ(tensor.bytes, 96 * 224 / 32 * 20);
  }
}

TEST(ModelFile, DigestTellsApartNamesTypesShapesAndBytesOnly) {
  const auto digest = [](const std::function<void(GgufContent&)>& change) {
    GgufContent content = TinyLlamaGguf();
    change(content);
    const auto file = OpenModel(WriteTemporary("digest.gguf", EncodeGguf(content)));
    EXPECT_TRUE(file.ok()) << file.status();
    return file.ok() ? (*file)->weights_digest() : std::string();
  };
  const std::string base = digest([](GgufContent&) {});
  EXPECT_EQ(base.size(), 64U);
  EXPECT_EQ(base, digest([](GgufContent& content) {
              std::swap(content.tensors[3], content.tensors[9]);  // another order in the file
              content.metadata["general.name"] = std::string("Renamed");
            }));
  // First and last byte of a tensor that is sampled (larger than 4 kB).
  for (const bool last : {false, true}) {
    EXPECT_NE(base, digest([last](GgufContent& content) {
                std::string& bytes = Tensor(content, "blk.1.attn_q.weight").bytes;
                (last ? bytes.back() : bytes.front()) = 1;
              }));
  }
  EXPECT_NE(base, digest([](GgufContent& content) {
              content.tensors.push_back(ZeroTensor("output.weight", {40, 64}));
            }));
}

TEST(ModelFile, RefusesTensorsThatAreMissingMisshapenOrForeign) {
  EXPECT_EQ(GgufError([](GgufContent&) {}), "");
  EXPECT_HAS(GgufError([](GgufContent& content) {
               Tensor(content, "blk.1.attn_k.weight").name = "blk.1.attn_kk.weight";
             }),
             "tensor blk.1.attn_k.weight is missing");
  EXPECT_HAS(GgufError([](GgufContent& content) {
               Tensor(content, "blk.1.attn_k.weight") = ZeroTensor("blk.1.attn_k.weight", {64, 32});
             }),
             "tensor blk.1.attn_k.weight has shape [64, 32], but the model's description needs "
             "[32, 64]");
  EXPECT_HAS(GgufError([](GgufContent& content) {
               content.tensors.push_back(ZeroTensor("blk.0.attn_q_norm.weight", {16}));
               content.tensors.push_back(ZeroTensor("blk.2.attn_norm.weight", {64}));
             }),
             "2 tensors have no place in a llama model of this description: "
             "blk.0.attn_q_norm.weight, blk.2.attn_norm.weight");
  EXPECT_HAS(GgufError([](GgufContent& content) {
               content.tensors.push_back(ZeroTensor("blk.0.attn_q.bias", {64}));
             }),
             "tensor blk.0.attn_k.bias is missing");
}

TEST(ModelFile, RefusesTensorTypesItCannotRun) {
  EXPECT_HAS(GgufError([](GgufContent& content) {
               GgufTensor& tensor = Tensor(content, "blk.0.ffn_up.weight");
               tensor.shape = {24, 256};  // the type is what is judged first
               tensor.type = 11;          // Q3_K: 110 bytes for 256 values
               tensor.bytes.assign(24 * 110, '\0');
             }),
             "tensor blk.0.ffn_up.weight is Q3_K, which is not available");
  EXPECT_HAS(GgufError([](GgufContent& content) {
               GgufTensor& tensor = Tensor(content, "output_norm.weight");
               tensor.type = 8;  // Q8_0: 34 bytes for 32 values
               tensor.bytes.assign(64 / 32 * 34, '\0');
             }),
             "tensor output_norm.weight is q8_0, but must be F32, F16 or BF16");
}

// A copy of a golden model to be broken.
class BrokenDirectory : public ::testing::Test {
 protected:
  void SetUp() override { Restore("mha"); }

  void Restore(const std::string& name) {
    directory_ = fs::path(::testing::TempDir()) / "shoal_model_tests" / "broken";
    fs::remove_all(directory_);
    fs::create_directories(directory_.parent_path());
    fs::copy(Golden(name), directory_);
  }
  std::string Error() { return testing::Error(directory_.string()); }
  void EditConfig(const std::string& changes) {
    Json config = Json::parse(ReadAll(directory_ / "config.json"));
    config.update(Json::parse(changes));
    WriteAll(directory_ / "config.json", config.dump());
  }

  fs::path directory_;
};

TEST_F(BrokenDirectory, OpensWhileWholeAlsoWithoutGenerationConfig) {
  EXPECT_EQ(Error(), "");
  fs::remove(directory_ / "generation_config.json");
  EXPECT_EQ(Error(), "");
}

TEST_F(BrokenDirectory, IsNamedWhenAFileIsMissing) {
  fs::remove(directory_ / "config.json");
  EXPECT_HAS(Error(), "no readable config.json");
  Restore("mha");
  fs::remove(directory_ / "model.safetensors");
  EXPECT_HAS(Error(), directory_.string());
  EXPECT_HAS(testing::Error((directory_ / "nothing").string()), "cannot open the model");
}

TEST_F(BrokenDirectory, IsRefusedWhenTheWeightsAreCutOrStandIns) {
  const std::string weights = ReadAll(directory_ / "model.safetensors");
  for (const size_t size :
       {size_t{0}, size_t{7}, size_t{100}, weights.size() / 2, weights.size() - 1}) {
    WriteAll(directory_ / "model.safetensors", weights.substr(0, size));
    EXPECT_HAS(Error(), "model.safetensors");
  }
  WriteAll(directory_ / "model.safetensors", "version https://git-lfs.github.com/spec/v1\n");
  EXPECT_HAS(Error(), "Git LFS");
}

TEST_F(BrokenDirectory, IsRefusedWhenConfigAndWeightsDisagree) {
  EditConfig(R"({"num_hidden_layers": 3})");
  EXPECT_HAS(Error(), "tensor model.layers.2.input_layernorm.weight is missing");
  Restore("mha");
  EditConfig(R"({"num_hidden_layers": 1})");
  EXPECT_HAS(Error(), "9 tensors have no place");
  Restore("mha");
  EditConfig(R"({"vocab_size": 321})");
  EXPECT_HAS(Error(), "model.embed_tokens.weight has shape [320, 64]");
  Restore("mha");
  EditConfig(R"({"attention_bias": true})");
  EXPECT_HAS(Error(), "tensor model.layers.0.self_attn.q_proj.bias is missing");
  Restore("gqa-bias");
  EditConfig(R"({"mlp_bias": false})");
  EXPECT_HAS(Error(), "have no place");
}

TEST_F(BrokenDirectory, TiedAndUntiedHeadsAreNeverGuessed) {
  EditConfig(R"({"tie_word_embeddings": true})");  // a head is there all the same: it is not used
  EXPECT_EQ(Error(), "");
  Restore("mqa-llama3-tied");
  EditConfig(R"({"tie_word_embeddings": false})");
  EXPECT_HAS(Error(), "tensor lm_head.weight is missing");
}

TEST_F(BrokenDirectory, IsRefusedWhenTheConfigIsNoFile) {
  fs::remove(directory_ / "config.json");
  fs::create_directory(directory_ / "config.json");
  EXPECT_HAS(Error(), "is a directory");
}

TEST(ModelFile, PointsFromASafetensorsFileToItsDirectory) {
  EXPECT_HAS(Error(Golden("mha/model.safetensors")), "give the directory");
}

}  // namespace
}  // namespace shoal::model::testing
