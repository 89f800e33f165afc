// SPDX-License-Identifier: Apache-2.0
#include "text/models/word_piece_model.h"

#include <utility>

#include "base/status.h"
#include "text/utf8.h"

namespace shoal::text {
namespace {

using Entries = std::vector<std::pair<absl::string_view, int32_t>>;

Entries EntriesAfter(const TokenizerDefinition& definition, absl::string_view prefix) {
  Entries entries;
  for (size_t id = 0; id < definition.tokens.size(); ++id) {
    const TokenDefinition& token = definition.tokens[id];
    if (!MadeFromText(token)) continue;
    absl::string_view spelling = token.spelling;
    if (spelling.substr(0, prefix.size()) != prefix || spelling.size() == prefix.size()) continue;
    spelling.remove_prefix(prefix.size());
    entries.emplace_back(spelling, static_cast<int32_t>(id));
  }
  return entries;
}

}  // namespace

WordPieceModel::WordPieceModel(const TokenizerDefinition& definition)
    : begin_(EntriesAfter(definition, "")),
      continue_(EntriesAfter(definition, definition.model.continuation)),
      characters_max_(definition.model.word_characters_max) {}

absl::StatusOr<WordPieceModel> WordPieceModel::Create(const TokenizerDefinition& definition) {
  if (!definition.model.unknown) {
    return absl::InvalidArgumentError("tokenizer: a WordPiece model without an unknown token");
  }
  WordPieceModel model(definition);
  model.unknown_ = *definition.model.unknown;
  return model;
}

void WordPieceModel::EncodePiece(absl::string_view piece, ModelScratch* /*scratch*/,
                                 std::vector<int32_t>* out) const {
  const size_t size = out->size();
  size_t begin = 0;
  if (CountCharacters(piece) > characters_max_) begin = absl::string_view::npos;
  while (begin < piece.size()) {
    const PrefixTrie& trie = begin == 0 ? begin_ : continue_;
    int32_t node = PrefixTrie::kRoot;
    int32_t best = -1;
    size_t best_end = begin;
    for (size_t end = begin; end < piece.size(); ++end) {
      node = trie.Step(node, static_cast<uint8_t>(piece[end]));
      if (node < 0) break;
      if (trie.ValueAt(node) < 0) continue;
      best = trie.ValueAt(node);
      best_end = end + 1;
    }
    if (best < 0) break;
    out->push_back(best);
    begin = best_end;
  }
  if (begin == piece.size()) return;
  out->resize(size);
  out->push_back(unknown_);
}

}  // namespace shoal::text
