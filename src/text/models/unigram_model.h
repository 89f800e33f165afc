// SPDX-License-Identifier: Apache-2.0
// UnigramModel: of all ways to spell a piece with tokens, the one with the best sum of scores.
#pragma once

#include <cstdint>
#include <vector>

#include "absl/status/statusor.h"
#include "text/models/byte_fallback.h"
#include "text/models/model.h"
#include "text/models/prefix_trie.h"
#include "text/models/space_cuts.h"

namespace shoal::text {

// Immutable, safe from any thread.
class UnigramModel final : public Model {
 public:
  // INVALID_ARGUMENT when there is no unknown token: a text may need one.
  static absl::StatusOr<UnigramModel> Create(const TokenizerDefinition& definition);

  // Viterbi. O(n) in the piece's bytes times the longest token.
  void EncodePiece(absl::string_view piece, ModelScratch* scratch,
                   std::vector<int32_t>* out) const override;
  void Cut(absl::string_view piece, std::vector<absl::string_view>* parts) const override {
    cuts_.Cut(piece, parts);
  }

 private:
  explicit UnigramModel(const TokenizerDefinition& definition);
  void FindPath(absl::string_view piece, std::vector<ModelScratch::PathNode>* path) const;
  void Reach(double score, int32_t begin, int32_t token, ModelScratch::PathNode* node) const;

  PrefixTrie trie_;
  std::vector<double> scores_;
  double unknown_score_ = 0;
  int32_t unknown_ = 0;
  bool fuse_unknown_ = true;
  bool single_precision_ = false;
  ByteFallback byte_fallback_;
  SpaceCuts cuts_;
};

}  // namespace shoal::text
