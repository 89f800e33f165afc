// SPDX-License-Identifier: Apache-2.0
// ScoredBpeModel: BPE as SentencePiece does it. There are no merges: two neighbours may join when
// what they spell together is a token, the one of the best score first.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "absl/container/flat_hash_map.h"
#include "text/models/byte_fallback.h"
#include "text/models/model.h"
#include "text/models/space_cuts.h"

namespace shoal::text {

// Immutable, safe from any thread.
class ScoredBpeModel final : public Model {
 public:
  explicit ScoredBpeModel(const TokenizerDefinition& definition);

  // The best score first, the leftmost of equals. O(n log n) in the piece's bytes.
  void EncodePiece(absl::string_view piece, ModelScratch* scratch,
                   std::vector<int32_t>* out) const override;
  void Cut(absl::string_view piece, std::vector<absl::string_view>* parts) const override {
    cuts_.Cut(piece, parts);
  }

 private:
  struct Token {
    int32_t id = 0;
    double score = 0;
  };

  const Token* Find(absl::string_view spelling) const;
  void PushCandidate(absl::string_view piece, ModelScratch* scratch, int32_t left) const;
  void Merge(absl::string_view piece, ModelScratch* scratch) const;

  absl::flat_hash_map<std::string, Token> tokens_;
  size_t longest_ = 0;
  std::optional<int32_t> unknown_;
  bool fuse_unknown_ = false;
  ByteFallback byte_fallback_;
  SpaceCuts cuts_;
};

}  // namespace shoal::text
