// SPDX-License-Identifier: Apache-2.0
// WordPieceModel: the longest token a word begins with, then the longest that continues it.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "text/models/model.h"
#include "text/models/prefix_trie.h"

namespace shoal::text {

// Immutable, safe from any thread.
class WordPieceModel final : public Model {
 public:
  // INVALID_ARGUMENT when there is no unknown token: a word may need one.
  static absl::StatusOr<WordPieceModel> Create(const TokenizerDefinition& definition);

  // A word that is too long, or that tokens cannot spell, is one unknown token.
  void EncodePiece(absl::string_view piece, ModelScratch* scratch,
                   std::vector<int32_t>* out) const override;

 private:
  explicit WordPieceModel(const TokenizerDefinition& definition);

  PrefixTrie begin_;
  PrefixTrie continue_;
  int32_t unknown_ = 0;
  size_t characters_max_ = 0;
};

}  // namespace shoal::text
