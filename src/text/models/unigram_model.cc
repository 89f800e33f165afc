// SPDX-License-Identifier: Apache-2.0
#include "text/models/unigram_model.h"

#include <algorithm>
#include <limits>
#include <utility>

#include "base/status.h"
#include "text/utf8_trusted.h"

namespace shoal::text {
namespace {

// How much worse than the worst token an unknown character is.
constexpr double kUnknownPenalty = 10.0;

std::vector<std::pair<absl::string_view, int32_t>> Entries(const TokenizerDefinition& definition) {
  std::vector<std::pair<absl::string_view, int32_t>> entries;
  for (size_t id = 0; id < definition.tokens.size(); ++id) {
    if (definition.model.unknown == static_cast<int32_t>(id)) continue;
    const TokenDefinition& token = definition.tokens[id];
    if (!MadeFromText(token) || token.spelling.empty()) continue;
    entries.emplace_back(definition.tokens[id].spelling, static_cast<int32_t>(id));
  }
  return entries;
}

}  // namespace

UnigramModel::UnigramModel(const TokenizerDefinition& definition)
    : trie_(Entries(definition)),
      fuse_unknown_(definition.model.fuse_unknown),
      single_precision_(definition.model.single_precision),
      byte_fallback_(definition),
      cuts_(definition) {
  double worst = std::numeric_limits<double>::infinity();
  for (const TokenDefinition& token : definition.tokens) {
    scores_.push_back(token.score);
    const bool counts = token.kind == TokenKind::kNormal || (!single_precision_ && token.in_model);
    if (counts) worst = std::min(worst, token.score);
  }
  unknown_score_ = worst - kUnknownPenalty;
}

absl::StatusOr<UnigramModel> UnigramModel::Create(const TokenizerDefinition& definition) {
  if (!definition.model.unknown) {
    return absl::InvalidArgumentError("tokenizer: a Unigram model without an unknown token");
  }
  UnigramModel model(definition);
  model.unknown_ = *definition.model.unknown;
  return model;
}

void UnigramModel::Reach(double score, int32_t begin, int32_t token,
                         ModelScratch::PathNode* node) const {
  if (single_precision_) score = static_cast<float>(score);
  if (node->begin >= 0 && score <= node->score) return;
  *node = {.score = score, .begin = begin, .token = token};
}

void UnigramModel::FindPath(absl::string_view piece,
                            std::vector<ModelScratch::PathNode>* path) const {
  path->assign(piece.size() + 1, ModelScratch::PathNode());
  for (size_t begin = 0; begin < piece.size();) {
    const double score = (*path)[begin].score;
    const size_t character = StepTrusted(piece, begin).length;
    const int32_t from = static_cast<int32_t>(begin);
    bool single = false;
    int32_t node = PrefixTrie::kRoot;
    for (size_t end = begin; end < piece.size(); ++end) {
      node = trie_.Step(node, static_cast<uint8_t>(piece[end]));
      if (node < 0) break;
      const int32_t token = trie_.ValueAt(node);
      if (token < 0) continue;
      Reach(score + scores_[token], from, token, &(*path)[end + 1]);
      single |= end + 1 - begin == character;
    }
    if (!single) Reach(score + unknown_score_, from, unknown_, &(*path)[begin + character]);
    begin += character;
  }
}

void UnigramModel::EncodePiece(absl::string_view piece, ModelScratch* scratch,
                               std::vector<int32_t>* out) const {
  auto& path = scratch->path;
  FindPath(piece, &path);
  // Backwards, then turned around.
  std::vector<std::pair<size_t, size_t>> spans;
  for (size_t end = piece.size(); end > 0;) {
    const size_t begin = static_cast<size_t>(path[end].begin);
    const bool joins = fuse_unknown_ && path[end].token == unknown_ && !spans.empty() &&
                       spans.back().first == end && path[spans.back().second].token == unknown_;
    if (joins) {
      spans.back().first = begin;
    } else {
      spans.emplace_back(begin, end);
    }
    end = begin;
  }
  for (size_t i = spans.size(); i-- > 0;) {
    const auto [begin, end] = spans[i];
    const int32_t token = path[end].token;
    if (token != unknown_ || !byte_fallback_.Append(piece.substr(begin, end - begin), out)) {
      out->push_back(token);
    }
  }
}

}  // namespace shoal::text
