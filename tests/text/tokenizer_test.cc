// SPDX-License-Identifier: Apache-2.0
#include "text/tokenizer.h"

#include <random>

#include "text_testing.h"

namespace shoal::text {
namespace {

class TokenizerTest : public testing::Test {
 protected:
  TextModel model_ = LoadGolden("gpt2");
  const Tokenizer& tokenizer_ = *model_.tokenizer;
};

TEST_F(TokenizerTest, LeavesControlSpellingsPlainWhenToldTo) {
  const int32_t end = *tokenizer_.TokenId("<|im_end|>");
  EncodeOptions plain;
  plain.parse_special_tokens = false;
  const auto ids = *tokenizer_.Encode("a<|im_end|>b", plain);
  EXPECT_EQ(std::count(ids.begin(), ids.end(), end), 0);
  EXPECT_EQ(tokenizer_.Decode(ids, true), "a<|im_end|>b");
  const auto parsed = *tokenizer_.Encode("a<|im_end|>b", {});
  EXPECT_EQ(std::count(parsed.begin(), parsed.end(), end), 1);
}

TEST_F(TokenizerTest, OneMarkedByteKeepsASpellingPlain) {
  const std::string text = "a<|im_end|>b<|im_end|>";
  const int32_t end = *tokenizer_.TokenId("<|im_end|>");
  for (size_t byte = 1; byte < 11; ++byte) {
    EncodeOptions options;
    options.plain_ranges = {{byte, byte + 1}};
    const auto ids = *tokenizer_.Encode(text, options);
    EXPECT_EQ(std::count(ids.begin(), ids.end(), end), 1) << byte;
    EXPECT_EQ(ids.back(), end);
    EXPECT_EQ(tokenizer_.Decode(ids, false), text);
  }
}

TEST_F(TokenizerTest, MarkedRangesDoNotCutWordsApart) {
  const std::string text = "The quick brown fox";
  EncodeOptions options;
  options.plain_ranges = {{2, 6}, {9, 12}};
  EXPECT_EQ(*tokenizer_.Encode(text, options), *tokenizer_.Encode(text, {}));
}

TEST_F(TokenizerTest, RefusesWhatIsNotUtf8NamingThePlace) {
  const auto ids = tokenizer_.Encode("abc\xED\xA0\x80", {});
  EXPECT_EQ(ids.status().code(), absl::StatusCode::kInvalidArgument);
  EXPECT_NE(ids.status().message().find("byte 3"), absl::string_view::npos);
}

TEST_F(TokenizerTest, RefusesTextBeyondTheLimit) {
  const auto ids = tokenizer_.Encode(std::string((16u << 20) + 1, 'a'), {});
  EXPECT_EQ(ids.status().code(), absl::StatusCode::kInvalidArgument);
  EXPECT_NE(ids.status().message().find("16777217"), absl::string_view::npos);
}

TEST_F(TokenizerTest, UnknownIdsHaveNoText) {
  EXPECT_EQ(tokenizer_.TokenBytes(-1), "");
  EXPECT_EQ(tokenizer_.TokenBytes(tokenizer_.vocab_size()), "");
  EXPECT_FALSE(tokenizer_.IsSpecial(INT32_MAX));
  EXPECT_EQ(tokenizer_.Decode({-5, INT32_MAX}, false), "");
}

TEST_F(TokenizerTest, ReadsSpecialTokensOfTheConfiguration) {
  EXPECT_EQ(tokenizer_.bos(), tokenizer_.TokenId("<|im_start|>"));
  EXPECT_EQ(tokenizer_.eos(), (std::vector<int32_t>{2, 0}));  // generation_config.json's list
  EXPECT_EQ(model_.bos_token, "<|im_start|>");
  EXPECT_EQ(model_.eos_token, "<|im_end|>");
  EXPECT_TRUE(tokenizer_.IsSpecial(*tokenizer_.TokenId("<|endoftext|>")));
  EXPECT_FALSE(tokenizer_.IsSpecial(*tokenizer_.TokenId("<tool>")));
  EXPECT_NE(model_.chat_template.find("You are a helpful assistant"), std::string::npos);
}

// Merging is n log n: 20 times the bytes may take far less than the 400 times of a quadratic one.
TEST_F(TokenizerTest, LongPiecesTakeAboutLinearTime) {
  const auto seconds = [&](size_t bytes) {
    double best = 1e9;
    for (int i = 0; i < 3; ++i) {
      const double start = ThreadSeconds();
      const auto ids = tokenizer_.Encode(std::string(bytes, 'a'), {});
      const double took = ThreadSeconds() - start;
      EXPECT_TRUE(ids.ok());
      best = std::min(best, took);
    }
    return best;
  };
  const double small = seconds(20'000);
  EXPECT_LT(seconds(400'000), std::max(small, 1e-4) * 120);
}

// Long pieces go through a heap, short ones through a scan; a text of one piece and the same text
// with cuts around it must agree on what is inside.
TEST_F(TokenizerTest, LongAndShortPiecesMergeAlike) {
  std::mt19937 random(3);
  for (int round = 0; round < 300; ++round) {
    std::string word;
    const size_t length = 20 + random() % 12;  // around the switch
    for (size_t i = 0; i < length; ++i) word += "thequickabr"[random() % 11];
    const auto ids = *tokenizer_.Encode(word, {});
    EXPECT_EQ(tokenizer_.Decode(ids, false), word);
    // No two neighbours that still merge: encoding a token's own text gives that token.
    for (const int32_t id : ids) {
      EXPECT_EQ(*tokenizer_.Encode(std::string(tokenizer_.TokenBytes(id)), {}),
                std::vector<int32_t>{id});
    }
  }
}

}  // namespace
}  // namespace shoal::text
