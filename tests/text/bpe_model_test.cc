// SPDX-License-Identifier: Apache-2.0
// The merges themselves, against the plainest reading of their definition: long pieces go through
// a heap and short ones through a scan, and both must give what it gives.
#include "text/models/bpe_model.h"

#include <algorithm>
#include <limits>
#include <random>

#include "gtest/gtest.h"

namespace shoal::text {
namespace {

// Tokens for single letters and for what the merges make; the order of `merges` is their rank.
TokenizerDefinition Definition(const std::vector<std::pair<std::string, std::string>>& merges) {
  TokenizerDefinition definition;
  definition.model.merges = merges;
  const auto add = [&](const std::string& spelling) {
    for (const TokenDefinition& token : definition.tokens) {
      if (token.spelling == spelling) return;
    }
    definition.tokens.push_back({.spelling = spelling, .kind = TokenKind::kNormal});
  };
  for (const char letter : std::string("abc")) add(std::string(1, letter));
  for (const auto& [left, right] : merges) add(left + right);
  return definition;
}

std::vector<std::string> Encode(const TokenizerDefinition& definition, const std::string& piece) {
  const auto model = BpeModel::Create(definition);
  EXPECT_TRUE(model.ok()) << model.status();
  ModelScratch scratch;
  std::vector<int32_t> ids;
  model->EncodePiece(piece, &scratch, &ids);
  std::vector<std::string> spellings;
  for (const int32_t id : ids) {
    spellings.push_back(definition.tokens[static_cast<size_t>(id)].spelling);
  }
  return spellings;
}

// The merge of lowest rank first, the leftmost of equals, until none is left.
std::vector<std::string> EncodePlainly(const TokenizerDefinition& definition,
                                       const std::string& piece) {
  std::vector<std::string> parts;
  for (const char letter : piece) parts.emplace_back(1, letter);
  while (true) {
    size_t best = 0;
    size_t best_rank = std::numeric_limits<size_t>::max();
    for (size_t i = 0; i + 1 < parts.size(); ++i) {
      const auto found = std::find(definition.model.merges.begin(), definition.model.merges.end(),
                                   std::pair(parts[i], parts[i + 1]));
      const auto rank = static_cast<size_t>(found - definition.model.merges.begin());
      if (found == definition.model.merges.end() || rank >= best_rank) continue;
      best = i;
      best_rank = rank;
    }
    if (best_rank == std::numeric_limits<size_t>::max()) return parts;
    parts[best] += parts[best + 1];
    parts.erase(parts.begin() + static_cast<std::ptrdiff_t>(best) + 1);
  }
}

TEST(BpeModel, OfEqualPairsTheLeftmostMergesFirstInPiecesOfAnyLength) {
  const TokenizerDefinition definition = Definition({{"a", "a"}});
  for (const size_t length : {3, 5, 23, 25, 27, 101}) {
    std::vector<std::string> expected(length / 2, "aa");
    expected.emplace_back("a");
    EXPECT_EQ(Encode(definition, std::string(length, 'a')), expected) << length;
  }
}

TEST(BpeModel, PiecesOfAnyLengthMergeAsTheDefinitionSays) {
  std::mt19937 random(17);
  for (int round = 0; round < 200; ++round) {
    // Merges of letters and of earlier merges, so that pairs overlap and chains arise.
    std::vector<std::string> known = {"a", "b", "c"};
    std::vector<std::pair<std::string, std::string>> merges;
    for (int i = 0; i < 12; ++i) {
      std::pair merge(known[random() % known.size()], known[random() % known.size()]);
      if (std::find(merges.begin(), merges.end(), merge) != merges.end()) continue;
      known.push_back(merge.first + merge.second);
      merges.push_back(std::move(merge));
    }
    const TokenizerDefinition definition = Definition(merges);
    std::string piece;
    for (size_t length = 1 + random() % 80; length > 0; --length) piece += "aabc"[random() % 4];
    EXPECT_EQ(Encode(definition, piece), EncodePlainly(definition, piece)) << piece;
  }
}

}  // namespace
}  // namespace shoal::text
