// SPDX-License-Identifier: Apache-2.0
// BpeModel: the merges of a byte-level BPE vocabulary, applied to one piece of text at a time.
#pragma once

#include <array>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "absl/container/flat_hash_map.h"
#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "text/bpe/bpe_definition.h"

namespace shoal::text {

// Immutable after Create, safe from any thread.
class BpeModel {
 public:
  // Reused between pieces of one call so that nothing is allocated per piece.
  struct Scratch {
    struct Symbol {
      int32_t token = 0;
      int32_t previous = 0;
      int32_t next = 0;
    };
    struct Candidate {
      uint32_t rank = 0;
      int32_t left = 0;
      int32_t left_token = 0;
      int32_t right_token = 0;
      int32_t merged = 0;
    };
    std::vector<Symbol> symbols;
    std::vector<Candidate> heap;
  };

  // Copies what it needs. INVALID_ARGUMENT names the merge whose tokens are not in the vocabulary.
  static absl::StatusOr<BpeModel> Create(const BpeDefinition& definition);

  // Appends the tokens of `piece` (bytes, below 2 GiB): the merge of lowest rank first, the
  // leftmost of equals. O(n log n) in the piece's bytes.
  void EncodePiece(absl::string_view piece, Scratch* scratch, std::vector<int32_t>* out) const;

 private:
  struct Merge {
    uint32_t rank = 0;
    int32_t token = 0;
  };

  BpeModel() = default;
  void SplitIntoBytes(absl::string_view piece, Scratch* scratch) const;
  void PushCandidate(Scratch* scratch, int32_t left) const;
  const Merge* FindMerge(int32_t left, int32_t right) const;
  void MergeShort(Scratch* scratch) const;
  void MergeLong(Scratch* scratch) const;

  std::array<int32_t, 256> byte_tokens_{};  // -1: none
  std::optional<int32_t> unknown_;
  absl::flat_hash_map<uint64_t, Merge> merges_;
  absl::flat_hash_map<std::string, int32_t> whole_pieces_;  // filled only for ignore_merges
};

}  // namespace shoal::text
