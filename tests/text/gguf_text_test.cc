// SPDX-License-Identifier: Apache-2.0
// The text side of GGUF files, made here from the golden tokenizer.
#include <cmath>
#include <cstring>
#include <functional>
#include <optional>

#include "text_testing.h"

namespace shoal::text {
namespace {

using nlohmann::ordered_json;

// Writes the metadata part of a GGUF file (version 3, no tensors).
class GgufWriter {
 public:
  void String(const std::string& key, const std::string& value) {
    Key(key, 8);
    Text(value);
  }
  void Uint32(const std::string& key, uint32_t value) {
    Key(key, 4);
    Raw(value);
  }
  void Bool(const std::string& key, bool value) {
    Key(key, 7);
    Raw(static_cast<uint8_t>(value));
  }
  void Strings(const std::string& key, const std::vector<std::string>& values) {
    Key(key, 9);
    Raw(uint32_t{8});
    Raw(static_cast<uint64_t>(values.size()));
    for (const std::string& value : values) Text(value);
  }
  void Floats(const std::string& key, const std::vector<float>& values) {
    Key(key, 9);
    Raw(uint32_t{6});
    Raw(static_cast<uint64_t>(values.size()));
    for (const float value : values) Raw(value);
  }
  void Ints(const std::string& key, const std::vector<int32_t>& values) {
    Key(key, 9);
    Raw(uint32_t{5});
    Raw(static_cast<uint64_t>(values.size()));
    for (const int32_t value : values) Raw(value);
  }
  std::string File() const {
    std::string file = "GGUF";
    const auto put = [&file](auto value) {
      file.append(reinterpret_cast<const char*>(&value), sizeof(value));
    };
    put(uint32_t{3});
    put(uint64_t{0});
    put(keys_);
    file += body_;
    file.resize((file.size() + 31) / 32 * 32);
    return file;
  }

 private:
  template <typename T>
  void Raw(T value) {
    body_.append(reinterpret_cast<const char*>(&value), sizeof(value));
  }
  void Text(const std::string& text) {
    Raw(static_cast<uint64_t>(text.size()));
    body_ += text;
  }
  void Key(const std::string& key, uint32_t type) {
    Text(key);
    Raw(type);
    ++keys_;
  }

  std::string body_;
  uint64_t keys_ = 0;
};

// What a GGUF file says of a tokenizer; the defaults are those of the golden one.
struct GgufModel {
  std::string model = "gpt2";
  std::string pre = "gpt-2";
  std::vector<std::string> tokens;
  std::vector<int32_t> types;
  std::vector<std::string> merges;
  uint32_t bos = 1;
  bool add_bos = false;

  explicit GgufModel(const ordered_json& document) {
    for (const auto& [spelling, id] : document["model"]["vocab"].items()) {
      const size_t index = id.get<size_t>();
      if (index >= tokens.size()) tokens.resize(index + 1);
      tokens[index] = spelling;
    }
    types.assign(tokens.size(), 1);
    for (const auto& token : document["added_tokens"]) {
      const size_t index = token["id"];
      if (index >= tokens.size()) tokens.resize(index + 1);
      types.resize(tokens.size(), 4);
      tokens[index] = token["content"];
      types[index] = token["special"].get<bool>() ? 3 : 4;
    }
    for (const auto& merge : document["model"]["merges"]) {
      merges.push_back(merge.is_string()
                           ? merge.get<std::string>()
                           : merge[0].get<std::string>() + " " + merge[1].get<std::string>());
    }
  }

  absl::StatusOr<TextModel> Load() const {
    GgufWriter writer;
    writer.String("general.architecture", "llama");
    writer.String("tokenizer.ggml.model", model);
    if (!pre.empty()) writer.String("tokenizer.ggml.pre", pre);
    writer.Strings("tokenizer.ggml.tokens", tokens);
    writer.Ints("tokenizer.ggml.token_type", types);
    writer.Strings("tokenizer.ggml.merges", merges);
    writer.Uint32("tokenizer.ggml.bos_token_id", bos);
    writer.Uint32("tokenizer.ggml.eos_token_id", 2);
    writer.Uint32("tokenizer.ggml.eot_token_id", 0);
    writer.Bool("tokenizer.ggml.add_bos_token", add_bos);
    writer.String("tokenizer.chat_template", "T");
    TemporaryModel files({{"model.gguf", writer.File()}});
    return LoadTextModel(files.path() + "/model.gguf");
  }
};

class GgufTextTest : public testing::TestWithParam<const char*> {};

TEST_P(GgufTextTest, GivesTheIdsOfTheReference) {
  const std::string name = GetParam();
  GgufModel file(ReadGoldenJson(name + "/tokenizer.json"));
  file.pre = name == "gpt2"     ? "gpt-2"
             : name == "llama3" ? "llama-bpe"
             : name == "o200k"  ? "gpt-4o"
                                : name;
  const auto model = file.Load();
  ASSERT_TRUE(model.ok()) << model.status();
  EXPECT_EQ(model->chat_template, "T");
  EXPECT_EQ(model->bos_token, file.tokens[1]);
  EXPECT_EQ(model->eos_token, file.tokens[2]);
  EXPECT_EQ(model->tokenizer->eos(), (std::vector<int32_t>{2, 0}));
  int compared = 0;
  const ordered_json golden = ReadGoldenJson(name + "/golden.json")["ids"];
  const std::vector<std::string> texts = HardTexts();
  for (size_t i = 0; i < texts.size(); ++i) {
    const std::string& text = texts[i];
    // This format has no strip and single-word flags.
    if (text.find("<strip>") != std::string::npos) continue;
    if (text.find("word") != std::string::npos) continue;
    if (text.find("<n>") != std::string::npos) continue;  // nor normalized ones
    EXPECT_EQ(*model->tokenizer->Encode(text, {}), golden[i].get<std::vector<int32_t>>()) << text;
    ++compared;
  }
  EXPECT_GT(compared, 150);
}

INSTANTIATE_TEST_SUITE_P(Models, GgufTextTest,
                         testing::Values("gpt2", "smollm", "llama3", "qwen2", "o200k",
                                         "deepseek-v3", "deepseek-llm", "deepseek-coder"));

TEST(GgufText, RefusesWhatIsNotBuiltOrContradictsItself) {
  const GgufModel good(ReadGoldenJson("gpt2/tokenizer.json"));
  const auto refuses = [&good](const std::string& named,
                               const std::function<void(GgufModel*)>& change) {
    GgufModel bad = good;
    change(&bad);
    const auto model = bad.Load();
    EXPECT_EQ(model.status().code(), absl::StatusCode::kInvalidArgument) << named;
    EXPECT_NE(std::string(model.status().message()).find(named), std::string::npos)
        << model.status();
  };
  refuses("'rwkv'", [](GgufModel* m) { m->model = "rwkv"; });
  refuses("tokenizer.ggml.scores", [](GgufModel* m) { m->model = "llama"; });
  refuses("'unheard-of'", [](GgufModel* m) { m->pre = "unheard-of"; });
  refuses("token_type", [](GgufModel* m) { m->types.pop_back(); });
  refuses("type 6", [](GgufModel* m) { m->types[5] = 6; });
  refuses("bos_token_id", [](GgufModel* m) { m->bos = 1u << 30; });
  refuses("both spelled", [](GgufModel* m) { m->tokens[300] = m->tokens[301]; });
  refuses("1048576 bytes", [](GgufModel* m) { m->tokens[300] = std::string(1 << 20, 'a'); });
  refuses("zzzz", [](GgufModel* m) { m->merges.push_back("zzzz qqqq"); });
  refuses("not a pair", [](GgufModel* m) { m->merges.push_back("zzzz"); });
  refuses("not a pair", [](GgufModel* m) { m->merges.push_back(""); });
  refuses("not valid UTF-8", [](GgufModel* m) { m->tokens[300] = "\xFF"; });
}

// A SentencePiece vocabulary: control tokens, bytes, and "▁", "▁a", "a".
class SentencePieceGguf : public testing::Test {
 protected:
  std::vector<std::string> tokens_ = {"<unk>", "<s>", "</s>", "<0x0A>", "\u2581", "a", "\u2581a"};
  std::vector<int32_t> types_ = {2, 3, 3, 6, 1, 1, 1};
  std::vector<float> scores_ = {0, 0, 0, 0, -3, -2, -1};
  std::string model_ = "llama";

  absl::StatusOr<TextModel> Load(std::optional<bool> add_space_prefix = std::nullopt) {
    GgufWriter writer;
    writer.String("general.architecture", "llama");
    writer.String("tokenizer.ggml.model", model_);
    writer.Strings("tokenizer.ggml.tokens", tokens_);
    writer.Ints("tokenizer.ggml.token_type", types_);
    writer.Floats("tokenizer.ggml.scores", scores_);
    writer.Uint32("tokenizer.ggml.bos_token_id", 1);
    writer.Uint32("tokenizer.ggml.eos_token_id", 2);
    if (add_space_prefix) writer.Bool("tokenizer.ggml.add_space_prefix", *add_space_prefix);
    TemporaryModel files({{"model.gguf", writer.File()}});
    return LoadTextModel(files.path() + "/model.gguf");
  }
  void ExpectRefused(const std::string& named) {
    const auto model = Load();
    EXPECT_EQ(model.status().code(), absl::StatusCode::kInvalidArgument) << named;
    EXPECT_NE(std::string(model.status().message()).find(named), std::string::npos)
        << model.status();
  }
};

TEST_F(SentencePieceGguf, PutsASpaceInFrontUnlessToldNotTo) {
  const auto with = Load();
  ASSERT_TRUE(with.ok()) << with.status();
  EXPECT_EQ(*with->tokenizer->Encode("a a\n", {}), (std::vector<int32_t>{1, 6, 6, 3}));
  EXPECT_EQ(*with->tokenizer->Encode("a</s>a", {}), (std::vector<int32_t>{1, 6, 2, 6}));
  EXPECT_EQ(with->tokenizer->Decode({6, 6}, true), "a a");
  const auto without = Load(false);
  EXPECT_EQ(*without->tokenizer->Encode("a a", {}), (std::vector<int32_t>{1, 5, 6}));
  EXPECT_EQ(without->tokenizer->Decode({6, 6}, true), " a a");
}

TEST_F(SentencePieceGguf, RefusesVocabulariesThatCannotBe) {
  scores_.pop_back();
  ExpectRefused("tokenizer.ggml.scores has 6 entries for 7 tokens");
  scores_.push_back(std::nanf(""));
  ExpectRefused("a score that is no number");
  scores_.back() = 0;
  for (const char* byte : {"<0x-1>", "<0xZZ>", "<0x100>", "<0x0>", "x"}) {
    tokens_[3] = byte;
    ExpectRefused(byte);
    ExpectRefused("names no byte");
  }
  tokens_[3] = "<0x0A>";
  model_ = "t5";
  tokens_[0] = "<other>";
  ExpectRefused("Unigram model without an unknown token");
}

TEST(GgufText, AddsTheBosWhenTheFileSaysSo) {
  GgufModel file(ReadGoldenJson("gpt2/tokenizer.json"));
  file.add_bos = true;
  file.pre = "";
  const auto model = file.Load();
  ASSERT_TRUE(model.ok()) << model.status();
  EXPECT_EQ((*model->tokenizer->Encode("Hi", {}))[0], 1);
}

}  // namespace
}  // namespace shoal::text
