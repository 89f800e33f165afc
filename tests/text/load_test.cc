// SPDX-License-Identifier: Apache-2.0
// What loading a Hugging Face directory accepts, and what it refuses and how it says so.
#include "text_testing.h"

namespace shoal::text {
namespace {

using nlohmann::ordered_json;

class LoadTest : public testing::Test {
 protected:
  ordered_json document_ = ReadGoldenJson("gpt2/tokenizer.json");
  ordered_json config_ = ordered_json::object();

  absl::StatusOr<TextModel> Load(const std::map<std::string, std::string>& more = {}) {
    std::map<std::string, std::string> files = more;
    files["tokenizer.json"] = document_.dump();
    if (!config_.empty()) files["tokenizer_config.json"] = config_.dump();
    TemporaryModel model(files);
    return LoadTextModel(model.path());
  }

  void ExpectRefused(const std::string& named,
                     const std::map<std::string, std::string>& more = {}) {
    const auto model = Load(more);
    EXPECT_EQ(model.status().code(), absl::StatusCode::kInvalidArgument) << named;
    EXPECT_NE(std::string(model.status().message()).find(named), std::string::npos)
        << model.status();
  }

  void PutBosTemplate(const std::string& token, int id) {
    document_["post_processor"] = ordered_json::parse(
        R"({"type":"TemplateProcessing","pair":[],"single":[{"SpecialToken":{"id":"T","type_id":0}},
            {"Sequence":{"id":"A","type_id":0}}],"special_tokens":{"T":{"id":"T","ids":[0],
            "tokens":["T"]}}})");
    document_["post_processor"]["special_tokens"]["T"]["ids"] = {id};
    document_["post_processor"]["special_tokens"]["T"]["tokens"] = {token};
  }
};

TEST_F(LoadTest, RefusesEveryPartThatIsNotBuiltByName) {
  const auto with = [this](const std::string& pointer, const char* value) {
    document_ = ReadGoldenJson("gpt2/tokenizer.json");
    document_[ordered_json::json_pointer(pointer)] = ordered_json::parse(value);
  };
  with("/model/type", R"("WordLevel")");
  ExpectRefused("model: the tokenizer model WordLevel");
  with("/model/type", R"("Unigram")");
  ExpectRefused("model.vocab is not an array");
  with("/model/byte_fallback", "true");
  ExpectRefused("byte_fallback");
  with("/model/dropout", "0.1");
  ExpectRefused("dropout");
  with("/model/end_of_word_suffix", R"("</w>")");
  ExpectRefused("end_of_word_suffix");
  with("/normalizer", R"({"type":"Sequence","normalizers":[{"type":"NFC"},{"type":"ByteLevel"}]})");
  ExpectRefused("normalizer.normalizers[1]: the normalizer ByteLevel");
  with("/normalizer", R"({"type":"Precompiled","precompiled_charsmap":"////"})");
  ExpectRefused("precompiled_charsmap is cut off");
  with("/pre_tokenizer", R"({"type":"UnicodeScripts"})");
  ExpectRefused("pre_tokenizer: the pre_tokenizer UnicodeScripts");
  with("/pre_tokenizer", R"({"type":"Whitespace"})");
  ExpectRefused("ByteLevel in only one");
  with("/pre_tokenizer",
       R"({"type":"Sequence","pretokenizers":[{"type":"Split","pattern":{"Regex":"(?<=a)b"}},
           {"type":"ByteLevel","add_prefix_space":false}]})");
  ExpectRefused("pre_tokenizer.pretokenizers[0].pattern: the pattern '(?<=a)b' uses a group");
  with("/pre_tokenizer",
       R"({"type":"Sequence","pretokenizers":[{"type":"ByteLevel"},{"type":"Digits"}]})");
  ExpectRefused("after ByteLevel");
  with("/post_processor", R"({"type":"Unheard"})");
  ExpectRefused("Unheard");
  with("/decoder", R"({"type":"Metaspace"})");
  ExpectRefused("replacement");
  with("/decoder", R"({"type":"BPEDecoder"})");
  ExpectRefused("decoder: the decoder BPEDecoder");
  with("/decoder", "null");
  ExpectRefused("decoder: a tokenizer without one");
  with("/surprise", "1");
  ExpectRefused("surprise");
}

TEST_F(LoadTest, RefusesVocabulariesThatContradictThemselves) {
  document_["model"]["merges"].push_back({"qqqq", "zzzz"});
  ExpectRefused("qqqq");
  document_ = ReadGoldenJson("gpt2/tokenizer.json");
  document_["model"]["vocab"]["new"] = 5;
  ExpectRefused("same id 5");
  document_["model"]["vocab"]["new"] = 2'000'000'000;
  ExpectRefused("2000000000");
  document_ = ReadGoldenJson("gpt2/tokenizer.json");
  document_["added_tokens"][0]["id"] = 7;
  ExpectRefused("<|endoftext|>");
  document_ = ReadGoldenJson("gpt2/tokenizer.json");
  document_["model"]["vocab"][std::string(1 << 20, 'a')] = 1100;
  ExpectRefused("1048576 bytes");
}

TEST_F(LoadTest, RefusesDocumentsThatAreNoTokenizer) {
  const auto refuses = [](const std::string& content, const std::string& named) {
    TemporaryModel model({{"tokenizer.json", content}});
    const auto loaded = LoadTextModel(model.path());
    EXPECT_EQ(loaded.status().code(), absl::StatusCode::kInvalidArgument);
    EXPECT_NE(std::string(loaded.status().message()).find(named), std::string::npos)
        << loaded.status();
  };
  refuses("{\"a\": ", "not valid JSON");
  refuses("[]", "not a JSON object");
  refuses("{}", "model.vocab");
  refuses("{\"model\":" + std::string(200, '[') + std::string(200, ']') + "}", "deeper");
  TemporaryModel empty({});
  EXPECT_EQ(LoadTextModel(empty.path()).status().code(), absl::StatusCode::kNotFound);
}

TEST_F(LoadTest, AddsTheBosOfThePostProcessorOnce) {
  PutBosTemplate("<|im_start|>", 1);
  const auto model = Load();
  ASSERT_TRUE(model.ok()) << model.status();
  const auto ids = *model->tokenizer->Encode("Hi", {});
  EXPECT_EQ(ids[0], 1);
  EXPECT_EQ(*model->tokenizer->Encode("<|im_start|>Hi", {}), ids);  // brings its own
  EncodeOptions bare;
  bare.add_special_tokens = false;
  EXPECT_EQ(*model->tokenizer->Encode("Hi", bare),
            std::vector<int32_t>(ids.begin() + 1, ids.end()));
  EXPECT_EQ(*model->tokenizer->Encode("", {}), std::vector<int32_t>{1});
}

TEST_F(LoadTest, TheConfigurationDecidesWhetherThereIsABos) {
  PutBosTemplate("<|im_start|>", 1);
  config_ = {{"bos_token", "<|im_start|>"}, {"add_bos_token", false}};
  EXPECT_NE((*Load()->tokenizer->Encode("Hi", {}))[0], 1);
  config_["add_bos_token"] = true;
  EXPECT_EQ((*Load()->tokenizer->Encode("Hi", {}))[0], 1);
  config_["bos_token"] = "<|endoftext|>";
  ExpectRefused("post_processor");
  config_["bos_token"] = "<|not there|>";
  ExpectRefused("<|not there|>");
}

TEST_F(LoadTest, NeverAppendsAnEos) {
  config_ = {{"eos_token", {{"content", "<|im_end|>"}}}, {"add_eos_token", true}};
  document_["post_processor"] = ordered_json::parse(
      R"({"type":"TemplateProcessing","single":[{"Sequence":{"id":"A","type_id":0}},
          {"SpecialToken":{"id":"E","type_id":0}}],
          "special_tokens":{"E":{"id":"E","ids":[2],"tokens":["<|im_end|>"]}}})");
  const auto model = Load();
  ASSERT_TRUE(model.ok()) << model.status();
  const auto ids = *model->tokenizer->Encode("Hi", {});
  EXPECT_EQ(std::count(ids.begin(), ids.end(), 2), 0);
  EXPECT_EQ(model->tokenizer->eos(), std::vector<int32_t>{2});
  document_["post_processor"]["special_tokens"]["E"]["ids"] = {0};
  ExpectRefused("EOS");
}

TEST_F(LoadTest, HonoursIgnoreMerges) {
  // Without merges " the" falls into bytes; as a whole piece it is still found.
  document_["model"]["merges"] = ordered_json::array();
  const auto split = *Load()->tokenizer->Encode(" the", {});
  EXPECT_EQ(split.size(), 4u);
  document_["model"]["ignore_merges"] = true;
  const auto model = Load();
  EXPECT_EQ(*model->tokenizer->Encode(" the", {}),
            std::vector<int32_t>{*model->tokenizer->TokenId("Ġthe")});
}

TEST_F(LoadTest, FindsTheChatTemplateWhereverItIs) {
  EXPECT_EQ(Load()->chat_template, "");
  config_["chat_template"] = ordered_json::parse(
      R"([{"name":"tool_use","template":"T"},{"name":"default","template":"D"}])");
  EXPECT_EQ(Load()->chat_template, "D");
  config_["chat_template"] = "S";
  EXPECT_EQ(Load()->chat_template, "S");
  EXPECT_EQ(Load({{"chat_template.jinja", "J\n"}})->chat_template, "J\n");
  config_["chat_template"] = ordered_json::parse(
      R"([{"name":"tool_use","template":"T"},{"name":"default","template":"D"}])");
  const auto listed = Load();
  EXPECT_EQ(listed->chat_template, "D");
  ASSERT_EQ(listed->named_templates.size(), 1u);
  EXPECT_EQ(listed->named_templates[0].name, "tool_use");
  EXPECT_EQ(listed->named_templates[0].source, "T");
  EXPECT_TRUE(Load({{"chat_template.jinja", "J\n"}})->named_templates.empty());
  const auto files = Load({{"chat_template.jinja", "J"},
                           {"additional_chat_templates/tool_use.jinja", "U"},
                           {"additional_chat_templates/rag.jinja", "R"},
                           {"additional_chat_templates/readme.txt", "?"}});
  ASSERT_EQ(files->named_templates.size(), 2u);
  EXPECT_EQ(files->named_templates[0].name, "rag");
  EXPECT_EQ(files->named_templates[1].source, "U");
  config_["chat_template"] = ordered_json::parse(R"([{"name":"tool_use","template":"T"}])");
  ExpectRefused("chat_template");
}

TEST_F(LoadTest, FallsBackToOtherFilesForSpecialTokens) {
  const auto model = Load({{"special_tokens_map.json", R"({"eos_token":"<|endoftext|>"})"}});
  ASSERT_TRUE(model.ok()) << model.status();
  EXPECT_EQ(model->tokenizer->eos(), std::vector<int32_t>{0});
  ExpectRefused("eos_token_id", {{"generation_config.json", R"({"eos_token_id":["x"]})"}});
}

TEST_F(LoadTest, ControlTokensCannotBeMergedTogether) {
  auto& merges = document_["model"]["merges"];
  merges.insert(merges.begin(), ordered_json::array({"q", "z"}));
  document_["model"]["vocab"]["qz"] = 1100;
  document_["added_tokens"].push_back(ordered_json::parse(
      R"({"id":1100,"content":"qz","single_word":false,"lstrip":false,"rstrip":false,
          "normalized":false,"special":true})"));
  const auto model = Load();
  ASSERT_TRUE(model.ok()) << model.status();
  EXPECT_EQ(*model->tokenizer->Encode("qz", {}), std::vector<int32_t>{1100});
  EncodeOptions plain;
  plain.parse_special_tokens = false;
  EXPECT_EQ(model->tokenizer->Encode("qz", plain)->size(), 2u);
}

}  // namespace
}  // namespace shoal::text
