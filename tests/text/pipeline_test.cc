// SPDX-License-Identifier: Apache-2.0
// What lies around the models: control tokens in users' text, starts of texts, other file formats.
#include <algorithm>
#include <random>

#include "text/detokenizer.h"
#include "text/load/sentencepiece.h"
#include "text/pipeline/charsmap.h"
#include "text/pipeline/normalizer.h"
#include "text_testing.h"

namespace shoal::text {
namespace {

using nlohmann::ordered_json;

int64_t Count(const std::vector<int32_t>& ids, int32_t id) {
  return std::count(ids.begin(), ids.end(), id);
}

// In Llama-2's older files control tokens are looked for in normalized text.
TEST(Pipeline, UserTextNeverBecomesAControlTokenAfterNormalizationEither) {
  ordered_json document = ReadGoldenJson("llama2/tokenizer.json");
  for (auto& token : document["added_tokens"]) token["normalized"] = true;
  TemporaryModel files({{"tokenizer.json", document.dump()}});
  const auto model = LoadTextModel(files.path());
  ASSERT_TRUE(model.ok()) << model.status();
  const Tokenizer& tokenizer = *model->tokenizer;
  const int32_t end = *tokenizer.TokenId("</s>");
  const std::string text = "a </s>é </s>";
  const auto encode = [&](std::vector<ByteRange> plain) {
    EncodeOptions options;
    options.add_special_tokens = false;
    options.plain_ranges = std::move(plain);
    return *tokenizer.Encode(text, options);
  };
  EXPECT_EQ(Count(encode({}), end), 2);
  EXPECT_EQ(Count(encode({{0, text.size()}}), end), 0);
  for (size_t byte = 2; byte < 6; ++byte) {
    EXPECT_EQ(Count(encode({{byte, byte + 1}}), end), 1) << byte;
  }
  EXPECT_EQ(Count(encode({{6, 8}}), end), 2);  // the letter between them
  EncodeOptions none;
  none.parse_special_tokens = false;
  EXPECT_EQ(Count(*tokenizer.Encode(text, none), end), 0);
}

TEST(Pipeline, AContinuationKeepsTheSpaceThatAWholeTextDrops) {
  for (const char* name : {"llama2", "mistral", "phi3", "spm-bpe/tokenizer.model", "t5"}) {
    const TextModel model = LoadGolden(name);
    const auto ids = [&](const char* text) {
      EncodeOptions options;
      options.add_special_tokens = false;
      return *model.tokenizer->Encode(text, options);
    };
    const auto stream = [&](IncrementalDetokenizer::Start start) {
      IncrementalDetokenizer detokenizer(model.tokenizer, true, start);
      std::string text;
      for (const int32_t id : ids("the fox")) text += detokenizer.Push(id);
      return text + detokenizer.Finish();
    };
    EXPECT_EQ(stream(IncrementalDetokenizer::Start::kText), "the fox") << name;
    EXPECT_EQ(stream(IncrementalDetokenizer::Start::kContinuation), " the fox") << name;
  }
}

TEST(Pipeline, NoSpaceAppearsAfterASpecialTokenThatTheReferenceDoesNotHave) {
  const TextModel model = LoadGolden("llama2");
  const int32_t the = *model.tokenizer->TokenId("\u2581the");
  const int32_t begin = *model.tokenizer->TokenId("<s>");
  EXPECT_EQ(model.tokenizer->Decode({begin, the, the}, false), "<s> the the");
  EXPECT_EQ(model.tokenizer->Decode({begin, the, the}, true), "the the");
}

TEST(Pipeline, InvalidByteTokensAreReplacedAndTheRestFollows) {
  const TextModel model = LoadGolden("llama2");
  IncrementalDetokenizer stream(model.tokenizer, true,
                                IncrementalDetokenizer::Start::kContinuation);
  std::vector<std::string> pieces;
  for (const char* token : {"<0xE4>", "\u2581the", "<0x80>", "."}) {
    pieces.push_back(stream.Push(*model.tokenizer->TokenId(token)));
  }
  EXPECT_EQ(pieces, (std::vector<std::string>{"", "\uFFFD the", "\uFFFD", "."}));
}

TEST(Pipeline, AMegabyteOfTextTakesBoundedTimeInEveryKind) {
  std::string text;
  while (text.size() < (1u << 20)) {
    for (const std::string& hard : HardTexts()) text += hard + " ";
  }
  for (const char* name :
       {"gpt2", "smollm", "llama3", "qwen2", "o200k", "deepseek-v3", "deepseek-coder",
        "deepseek-llm", "llama2", "mistral", "gemma", "t5", "unigram-bytes", "bert", "bert-cased",
        "spm-bpe/tokenizer.model", "spm-unigram/model.gguf"}) {
    const TextModel model = LoadGolden(name);
    const double start = ThreadSeconds();
    EXPECT_TRUE(model.tokenizer->Encode(text, {}).ok());
    const double took = ThreadSeconds() - start;
    EXPECT_LT(took, 30.0) << name;
  }
}

TEST(Pipeline, AVocabTxtIsBert) {
  TemporaryModel files({{"vocab.txt", ReadGolden("bert/vocab.txt")},
                        {"tokenizer_config.json", R"({"do_lower_case":true})"}});
  const auto model = LoadTextModel(files.path());
  ASSERT_TRUE(model.ok()) << model.status();
  const ordered_json golden = ReadGoldenJson("bert/golden.json")["ids"];
  const std::vector<std::string> texts = HardTexts();
  EncodeOptions options;
  options.add_special_tokens = false;
  options.parse_special_tokens = false;
  int compared = 0;
  for (size_t i = 0; i < texts.size(); ++i) {
    if (texts[i].find('[') != std::string::npos) continue;
    EXPECT_EQ(*model->tokenizer->Encode(texts[i], options), golden[i].get<std::vector<int32_t>>())
        << texts[i];
    ++compared;
  }
  EXPECT_GT(compared, 150);
  const auto with_cls = *model->tokenizer->Encode("the", {});
  EXPECT_EQ(with_cls[0], *model->tokenizer->TokenId("[CLS]"));
  EXPECT_EQ(model->tokenizer->eos(), std::vector<int32_t>{*model->tokenizer->TokenId("[SEP]")});
}

TEST(Pipeline, ASentencePieceDirectoryTakesTokensAndOptionsFromItsConfiguration) {
  const std::string bytes = ReadGolden("spm-bpe/tokenizer.model");
  const auto load = [&](const std::string& config) {
    TemporaryModel files({{"tokenizer.model", bytes}, {"tokenizer_config.json", config}});
    return LoadTextModel(files.path());
  };
  const auto plain = load(R"({"legacy":false,"added_tokens_decoder":{"5000":{"content":"<|x|>",
      "special":true}}})");
  ASSERT_TRUE(plain.ok()) << plain.status();
  const Tokenizer& tokenizer = *plain->tokenizer;
  EXPECT_EQ(tokenizer.TokenId("<|x|>"), 5000);
  EXPECT_TRUE(tokenizer.IsSpecial(5000));
  const int32_t the = *tokenizer.TokenId("\u2581the");
  EXPECT_EQ(tokenizer.Encode("the<|x|>the", {})->at(1), the);
  EXPECT_NE(tokenizer.Encode("the<|x|>the", {})->at(3), the);
  const auto legacy = load(R"({"legacy":true,"added_tokens_decoder":{"5000":{"content":"<|x|>",
      "special":true}}})");
  EXPECT_EQ(legacy->tokenizer->Encode("the<|x|>the", {})->at(3), the);
  EXPECT_NE(
      std::string(load(R"({"added_tokens_decoder":{"3":{"content":"y"}}})").status().message())
          .find("added_tokens_decoder: id 3"),
      std::string::npos);
}

TEST(SentencePieceFile, IsRefusedWhereverItIsCutOff) {
  const std::string bytes = ReadGolden("spm-unigram/tokenizer.model");
  ASSERT_TRUE(ParseSentencePieceModel(bytes).ok());
  int refused = 0;
  for (size_t size = 0; size < bytes.size(); size += 7) {
    const auto definition = ParseSentencePieceModel(bytes.substr(0, size));
    if (definition.ok()) continue;  // cut between two fields
    EXPECT_EQ(definition.status().code(), absl::StatusCode::kInvalidArgument);
    ++refused;
  }
  EXPECT_GT(refused, 500);
}

TEST(SentencePieceFile, SurvivesAnyBytes) {
  const std::string good = ReadGolden("spm-unigram/tokenizer.model");
  std::mt19937 random(8);
  int built = 0;
  for (int round = 0; round < 400; ++round) {
    std::string bad = good;
    for (int i = 0; i < 4; ++i) bad[random() % bad.size()] = static_cast<char>(random());
    auto definition = ParseSentencePieceModel(bad);
    if (!definition.ok()) continue;
    const auto tokenizer = BuildTokenizer(*std::move(definition));
    if (!tokenizer.ok()) continue;
    ++built;
    EXPECT_TRUE((*tokenizer)->Encode("the quick ﬁ e\u0301 \u00a0 x", {}).ok());
  }
  EXPECT_GT(built, 20);
}

TEST(Charsmap, SurvivesAnyBytes) {
  EXPECT_FALSE(Charsmap::Parse("").ok());
  EXPECT_FALSE(Charsmap::Parse(std::string("\x10\0\0\0abc", 7)).ok());
  std::mt19937 random(6);
  for (int round = 0; round < 300; ++round) {
    std::string blob = std::string("\x40\0\0\0", 4);
    for (int i = 0; i < 64; ++i) blob += static_cast<char>(random());
    blob += "replacement";
    const auto map = Charsmap::Parse(blob);
    ASSERT_TRUE(map.ok());
    for (int byte = 1; byte < 256; ++byte) {
      const std::string text(3, static_cast<char>(byte));
      const auto match = map->Longest(text);
      EXPECT_LE(match ? match->length : 0, text.size());
      EXPECT_EQ(map->Shortest(text).has_value(), map->Longest(text).has_value());
    }
  }
}

TEST(Normalizer, MarksFollowTheTextThroughEveryStep) {
  std::vector<NormalizerStep> steps(3);
  steps[0].kind = NormalizerStep::Kind::kNfc;
  steps[1].kind = NormalizerStep::Kind::kReplace;
  steps[1].pattern = Pattern::Literal(" ");
  steps[1].content = "__";
  steps[2].kind = NormalizerStep::Kind::kPrepend;
  steps[2].content = ">";
  const auto normalizer = Normalizer::Create(std::move(steps));
  ASSERT_TRUE(normalizer.ok());
  NormalizedText text;
  text.text = "a e\u0301 b";
  text.marks = std::string("\0\1\0\1\1\0\0", 7);  // the first space and the accent
  text.track = true;
  ASSERT_TRUE(normalizer->Apply(PartPlace(), &text).ok());
  EXPECT_EQ(text.text, ">a__é__b");
  EXPECT_EQ(text.marks, std::string("\0\0\1\1\1\1\0\0\0", 9));
}

}  // namespace
}  // namespace shoal::text
