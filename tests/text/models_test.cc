// SPDX-License-Identifier: Apache-2.0
// The models against the plainest reading of their definitions.
#include "text/models/model.h"

#include <algorithm>
#include <random>

#include "gtest/gtest.h"

namespace shoal::text {
namespace {

using Spellings = std::vector<std::string>;

// Distinct spellings of one to four letters with scores that are often equal; id 0 is unknown.
TokenizerDefinition RandomVocabulary(ModelKind kind, std::mt19937* random) {
  TokenizerDefinition definition;
  definition.model.kind = kind;
  definition.model.unknown = 0;
  definition.tokens.resize(1);
  definition.tokens[0].spelling = "<unk>";
  definition.tokens[0].kind = TokenKind::kControl;
  for (int i = 0; i < 14; ++i) {
    std::string spelling;
    for (size_t length = 1 + (*random)() % 4; length > 0; --length) {
      spelling += "ab"[(*random)() % 2];
    }
    if (i < 1) spelling = "é";
    const bool known =
        std::any_of(definition.tokens.begin(), definition.tokens.end(),
                    [&](const TokenDefinition& token) { return token.spelling == spelling; });
    if (known) continue;
    definition.tokens.emplace_back();
    definition.tokens.back().spelling = spelling;
    definition.tokens.back().kind = TokenKind::kNormal;
    definition.tokens.back().score = -static_cast<double>((*random)() % 6);
  }
  return definition;
}

const TokenDefinition* Find(const TokenizerDefinition& definition, const std::string& spelling) {
  for (size_t id = 1; id < definition.tokens.size(); ++id) {
    if (definition.tokens[id].spelling == spelling) return &definition.tokens[id];
  }
  return nullptr;
}

std::string RandomText(std::mt19937* random, size_t longest) {
  std::string text;
  for (size_t length = 1 + (*random)() % longest; length > 0; --length) {
    const size_t which = (*random)() % 12;
    text += which == 0 ? "é" : which == 1 ? "x" : which % 2 == 0 ? "a" : "b";
  }
  return text;
}

Spellings Characters(const std::string& text) {
  Spellings characters;
  for (const char c : text) {
    if ((static_cast<uint8_t>(c) & 0xC0) == 0x80) {
      characters.back() += c;
    } else {
      characters.emplace_back(1, c);
    }
  }
  return characters;
}

std::vector<int32_t> Encode(const TokenizerDefinition& definition, const std::string& text) {
  const auto model = MakeModel(definition);
  EXPECT_TRUE(model.ok()) << model.status();
  ModelScratch scratch;
  std::vector<int32_t> ids;
  (*model)->EncodePiece(text, &scratch, &ids);
  return ids;
}

TEST(ScoredBpeModel, JoinsTheBestScoreFirstAndTheLeftmostOfEquals) {
  std::mt19937 random(3);
  for (int round = 0; round < 500; ++round) {
    const TokenizerDefinition definition = RandomVocabulary(ModelKind::kScoredBpe, &random);
    const std::string text = RandomText(&random, 60);
    Spellings parts = Characters(text);
    while (true) {
      size_t best = parts.size();
      double best_score = 0;
      for (size_t i = 0; i + 1 < parts.size(); ++i) {
        const TokenDefinition* token = Find(definition, parts[i] + parts[i + 1]);
        if (token == nullptr || (best < parts.size() && token->score <= best_score)) continue;
        best = i;
        best_score = token->score;
      }
      if (best == parts.size()) break;
      parts[best] += parts[best + 1];
      parts.erase(parts.begin() + static_cast<std::ptrdiff_t>(best) + 1);
    }
    std::vector<int32_t> expected;
    for (const std::string& part : parts) {
      const TokenDefinition* token = Find(definition, part);
      expected.push_back(token == nullptr ? 0
                                          : static_cast<int32_t>(token - definition.tokens.data()));
    }
    ASSERT_EQ(Encode(definition, text), expected) << text;
  }
}

// The best sum of scores over all ways to spell the rest of the text.
double BestSum(const TokenizerDefinition& definition, const Spellings& characters, size_t from,
               double unknown) {
  if (from == characters.size()) return 0;
  double best = -1e9;
  std::string spelling;
  for (size_t to = from; to < characters.size(); ++to) {
    spelling += characters[to];
    const TokenDefinition* token = Find(definition, spelling);
    if (token == nullptr && to > from) continue;
    const double score = token == nullptr ? unknown : token->score;
    best = std::max(best, score + BestSum(definition, characters, to + 1, unknown));
  }
  return best;
}

TEST(UnigramModel, FindsThePathOfTheBestSum) {
  std::mt19937 random(4);
  for (int round = 0; round < 300; ++round) {
    TokenizerDefinition definition = RandomVocabulary(ModelKind::kUnigram, &random);
    const std::string text = RandomText(&random, 10);
    double worst = 0;
    for (size_t id = 1; id < definition.tokens.size(); ++id) {
      worst = std::min(worst, definition.tokens[id].score);
    }
    definition.tokens[0].score = worst - 10;
    std::string spelled;
    double sum = 0;
    for (const int32_t id : Encode(definition, text)) {
      sum += definition.tokens[static_cast<size_t>(id)].score;
      spelled += id == 0 ? "?" : definition.tokens[static_cast<size_t>(id)].spelling;
    }
    EXPECT_EQ(sum, BestSum(definition, Characters(text), 0, worst - 10)) << text;
    size_t position = 0;
    for (const char c : spelled) position += c == '?' && text[position] == "é"[0] ? 2 : 1;
    EXPECT_EQ(position, text.size());
  }
}

TEST(UnigramModel, FusesUnknownCharactersOrSpellsThemInBytes) {
  TokenizerDefinition definition;
  definition.model.kind = ModelKind::kUnigram;
  definition.model.unknown = 0;
  definition.model.fuse_unknown = true;
  definition.tokens.resize(2);
  definition.tokens[0].spelling = "<unk>";
  definition.tokens[0].kind = TokenKind::kControl;
  definition.tokens[1].spelling = "a";
  definition.tokens[1].kind = TokenKind::kNormal;
  EXPECT_EQ(Encode(definition, "xyaz"), (std::vector<int32_t>{0, 1, 0}));
  definition.model.fuse_unknown = false;
  EXPECT_EQ(Encode(definition, "xyaz"), (std::vector<int32_t>{0, 0, 1, 0}));
  definition.model.byte_fallback = true;
  for (const char* byte : {"<0xC3>", "<0xA9>"}) {
    definition.tokens.emplace_back();
    definition.tokens.back().spelling = byte;
    definition.tokens.back().kind = TokenKind::kByte;
  }
  EXPECT_EQ(Encode(definition, "éax"), (std::vector<int32_t>{2, 3, 1, 0}));
}

TEST(WordPieceModel, TakesTheLongestPieceAndGivesUpOnWholeWords) {
  TokenizerDefinition definition;
  definition.model.kind = ModelKind::kWordPiece;
  definition.model.word_characters_max = 6;
  EXPECT_FALSE(MakeModel(definition).ok());  // no unknown token
  definition.model.unknown = 0;
  for (const char* spelling : {"[UNK]", "un", "una", "##a", "##able", "##bl"}) {
    definition.tokens.emplace_back();
    definition.tokens.back().spelling = spelling;
    definition.tokens.back().kind = TokenKind::kNormal;
  }
  EXPECT_EQ(Encode(definition, "una"), (std::vector<int32_t>{2}));
  EXPECT_EQ(Encode(definition, "unaa"), (std::vector<int32_t>{2, 3}));
  EXPECT_EQ(Encode(definition, "unabl"), (std::vector<int32_t>{2, 5}));
  EXPECT_EQ(Encode(definition, "unable"), (std::vector<int32_t>{0}));  // greedy: "una", "bl", ?
  EXPECT_EQ(Encode(definition, "a"), (std::vector<int32_t>{0}));
  EXPECT_EQ(Encode(definition, "unaaaaaa"), (std::vector<int32_t>{0}));  // too long
}

TEST(SpaceCuts, CutOnlyWhereNoTokenReachesAcross) {
  TokenizerDefinition definition;
  definition.model.kind = ModelKind::kCharacterBpe;
  for (const char* spelling : {"\u2581", "a", "b", "b\u2581", "\u2581\u2581"}) {
    definition.tokens.emplace_back();
    definition.tokens.back().spelling = spelling;
    definition.tokens.back().kind = TokenKind::kNormal;
  }
  const auto model = MakeModel(definition);
  ASSERT_TRUE(model.ok()) << model.status();
  std::vector<absl::string_view> parts;
  const std::string text = "\u2581a\u2581b\u2581\u2581a";
  (*model)->Cut(text, &parts);
  ASSERT_EQ(parts.size(), 2u);
  EXPECT_EQ(parts[0], "\u2581a");
  EXPECT_EQ(parts[1], "\u2581b\u2581\u2581a");
}

}  // namespace
}  // namespace shoal::text
