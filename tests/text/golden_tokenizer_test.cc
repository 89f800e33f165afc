// SPDX-License-Identifier: Apache-2.0
// Every kind of tokenizer against the ids and texts of its reference implementation.

#include "text/detokenizer.h"
#include "text_testing.h"

namespace shoal::text {
namespace {

struct Kind {
  const char* model;  // below tests/golden/text; a folder or a file in it
  const char* golden;
  bool lossless = false;  // decoding gives back the text
};

void PrintTo(const Kind& kind, std::ostream* out) { *out << kind.model; }

class GoldenTokenizer : public testing::TestWithParam<Kind> {
 protected:
  TextModel model_ = LoadGolden(GetParam().model);
  nlohmann::ordered_json golden_ = ReadGoldenJson(std::string(GetParam().golden) + "/golden.json");
  std::vector<std::string> texts_ = HardTexts();

  std::vector<int32_t> Encode(const std::string& text) {
    EncodeOptions options;
    options.add_special_tokens = false;
    auto ids = model_.tokenizer->Encode(text, options);
    EXPECT_TRUE(ids.ok()) << ids.status();
    return ids.ok() ? *ids : std::vector<int32_t>();
  }
};

// As scripts/make_text_goldens.py hashes ids too many to store.
std::string HashOf(const std::vector<int32_t>& ids) {
  uint64_t value = 0xCBF29CE484222325;
  for (const int32_t id : ids) {
    for (int shift = 0; shift < 32; shift += 8) {
      value = (value ^ ((static_cast<uint32_t>(id) >> shift) & 0xFFu)) * 0x100000001B3;
    }
  }
  char text[17];
  snprintf(text, sizeof(text), "%016llx", static_cast<unsigned long long>(value));
  return text;
}

TEST_P(GoldenTokenizer, GivesTheReferencesIdsForHardTexts) {
  int compared = 0;
  for (size_t i = 0; i < texts_.size(); ++i) {
    if (golden_["ids"][i].is_null()) continue;
    EXPECT_EQ(Encode(texts_[i]), golden_["ids"][i].get<std::vector<int32_t>>())
        << "text: " << texts_[i];
    ++compared;
  }
  EXPECT_GE(compared, 150);
}

TEST_P(GoldenTokenizer, GivesTheReferencesIdsForLongRunsInBoundedTime) {
  const nlohmann::ordered_json runs = ReadGoldenJson("hard.json")["long"];
  for (size_t i = 0; i < runs.size(); ++i) {
    std::string text;
    for (int count = runs[i][1]; count > 0; --count) text += runs[i][0].get<std::string>();
    text += runs[i][2].get<std::string>();
    const double start = ThreadSeconds();
    EXPECT_EQ(HashOf(Encode(text)), golden_["long"][i].get<std::string>()) << runs[i].dump();
    const double took = ThreadSeconds() - start;
    EXPECT_LT(took, 30.0) << runs[i].dump();
  }
}

TEST_P(GoldenTokenizer, DecodesRandomIdsAsTheReferenceDoes) {
  for (const auto& entry : golden_["decode"]) {
    const auto ids = entry["ids"].get<std::vector<int32_t>>();
    EXPECT_EQ(model_.tokenizer->Decode(ids, true), entry["skip"].get<std::string>());
    EXPECT_EQ(model_.tokenizer->Decode(ids, false), entry["keep"].get<std::string>());
  }
}

TEST_P(GoldenTokenizer, StreamsExactlyWhatTheWholeDecodeGives) {
  for (const auto& entry : golden_["decode"]) {
    for (const bool skip : {true, false}) {
      IncrementalDetokenizer stream(model_.tokenizer, skip);
      std::string text;
      for (const int32_t id : entry["ids"]) text += stream.Push(id);
      text += stream.Finish();
      EXPECT_EQ(text, entry[skip ? "skip" : "keep"].get<std::string>());
    }
  }
}

TEST_P(GoldenTokenizer, DecodingUndoesEncoding) {
  if (!GetParam().lossless) return;
  for (const std::string& text : texts_) {
    if (text.find("<strip>") != std::string::npos) continue;  // it swallows spaces
    if (text.find("\u2581") != std::string::npos) continue;   // a space to some
    EXPECT_EQ(model_.tokenizer->Decode(Encode(text), false), text);
  }
}

INSTANTIATE_TEST_SUITE_P(
    Models, GoldenTokenizer,
    testing::Values(
        Kind{"gpt2", "gpt2", true}, Kind{"smollm", "smollm", true}, Kind{"llama3", "llama3", true},
        Kind{"qwen2", "qwen2"}, Kind{"o200k", "o200k", true},
        Kind{"deepseek-v3", "deepseek-v3", true}, Kind{"deepseek-coder", "deepseek-coder", true},
        Kind{"deepseek-llm", "deepseek-llm", true}, Kind{"prefixed", "prefixed"},
        Kind{"llama2", "llama2"}, Kind{"mistral", "mistral"}, Kind{"phi3", "phi3"},
        Kind{"gemma", "gemma", true}, Kind{"t5", "t5"}, Kind{"unigram-bytes", "unigram-bytes"},
        Kind{"bert", "bert"}, Kind{"bert-cased", "bert-cased"}, Kind{"spm-bpe", "spm-bpe"},
        Kind{"spm-unigram", "spm-unigram"}, Kind{"spm-bpe/tokenizer.model", "spm-bpe"},
        Kind{"spm-bpe/model.gguf", "spm-bpe"}, Kind{"spm-unigram/model.gguf", "spm-unigram"}),
    [](const testing::TestParamInfo<Kind>& param) {
      std::string name = param.param.model;
      for (char& c : name) {
        if (!isalnum(static_cast<unsigned char>(c))) c = '_';
      }
      return name;
    });

}  // namespace
}  // namespace shoal::text
