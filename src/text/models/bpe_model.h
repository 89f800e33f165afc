// SPDX-License-Identifier: Apache-2.0
// BpeModel: the merges of a BPE vocabulary over bytes or characters.
#pragma once

#include <array>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "absl/container/flat_hash_map.h"
#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "text/models/byte_fallback.h"
#include "text/models/model.h"
#include "text/models/space_cuts.h"
#include "text/tokenizer_definition.h"

namespace shoal::text {

// Immutable after Create, safe from any thread.
class BpeModel final : public Model {
 public:
  // Copies what it needs. INVALID_ARGUMENT names the merge whose tokens are not in the vocabulary.
  static absl::StatusOr<BpeModel> Create(const TokenizerDefinition& definition);

  // The merge of lowest rank first, the leftmost of equals. O(n log n) in the piece's bytes.
  void EncodePiece(absl::string_view piece, ModelScratch* scratch,
                   std::vector<int32_t>* out) const override;
  void Cut(absl::string_view piece, std::vector<absl::string_view>* parts) const override;

 private:
  struct Merge {
    uint32_t rank = 0;
    int32_t token = 0;
  };
  using SpellingIndex = absl::flat_hash_map<absl::string_view, int32_t>;

  explicit BpeModel(const TokenizerDefinition& definition);
  absl::Status ReadMerges(const TokenizerDefinition& definition, const SpellingIndex& ids);
  void SplitIntoBytes(absl::string_view piece, ModelScratch* scratch) const;
  void SplitIntoCharacters(absl::string_view piece, ModelScratch* scratch) const;
  void PushCandidate(ModelScratch* scratch, int32_t left) const;
  const Merge* FindMerge(int32_t left, int32_t right) const;
  void MergeShort(ModelScratch* scratch) const;
  void MergeLong(ModelScratch* scratch) const;

  bool byte_level_ = true;
  bool fuse_unknown_ = false;
  std::array<int32_t, 256> byte_tokens_{};  // byte level, or of ASCII characters; -1: none
  absl::flat_hash_map<uint32_t, int32_t> character_tokens_;  // of other characters
  std::optional<int32_t> unknown_;
  ByteFallback byte_fallback_;
  SpaceCuts cuts_;
  absl::flat_hash_map<uint64_t, Merge> merges_;
  absl::flat_hash_map<std::string, int32_t> whole_pieces_;  // filled only for ignore_merges
};

}  // namespace shoal::text
