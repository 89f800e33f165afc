// SPDX-License-Identifier: Apache-2.0
// Model: turns one piece of text at a time into tokens.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "text/tokenizer_definition.h"

namespace shoal::text {

// Reused between pieces of one call so that nothing is allocated per piece.
struct ModelScratch {
  struct Symbol {
    int32_t token = 0;  // -1: swallowed by its left neighbour, or (scored BPE) not known yet
    int32_t previous = 0;
    int32_t next = 0;
    uint32_t begin = 0;  // bytes of the piece; scored BPE only
    uint32_t size = 0;
  };
  struct Candidate {
    uint32_t rank = 0;
    int32_t left = 0;
    int32_t left_token = 0;
    int32_t right_token = 0;
    int32_t merged = 0;
  };
  struct ScoredCandidate {
    double score = 0;
    int32_t left = 0;
    uint32_t size = 0;
  };
  struct PathNode {
    double score = 0;
    int32_t begin = -1;  // -1: not reached
    int32_t token = 0;
  };
  std::vector<Symbol> symbols;
  std::vector<Candidate> heap;
  std::vector<ScoredCandidate> scored_heap;
  std::vector<PathNode> path;
};

// Immutable, safe from any thread.
class Model {
 public:
  virtual ~Model() = default;
  // Appends the tokens of `piece` (well-formed UTF-8, below 2 GiB). At most O(n log n) for a given
  // vocabulary.
  virtual void EncodePiece(absl::string_view piece, ModelScratch* scratch,
                           std::vector<int32_t>* out) const = 0;
  // Appends `piece`, cut where no token can reach across, so that encoding the parts gives the
  // same tokens.
  virtual void Cut(absl::string_view piece, std::vector<absl::string_view>* parts) const {
    parts->push_back(piece);
  }
};

// INVALID_ARGUMENT names what of the definition contradicts itself.
absl::StatusOr<std::unique_ptr<const Model>> MakeModel(const TokenizerDefinition& definition);

}  // namespace shoal::text
