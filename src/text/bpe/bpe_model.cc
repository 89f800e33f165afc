// SPDX-License-Identifier: Apache-2.0
#include "text/bpe/bpe_model.h"

#include <algorithm>

#include "base/status.h"
#include "text/bpe/byte_level.h"

namespace shoal::text {
namespace {

// Up to here scanning all pairs for the best is faster than a heap.
constexpr size_t kShortPieceSymbols = 24;

uint64_t PairKey(int32_t left, int32_t right) {
  return (static_cast<uint64_t>(static_cast<uint32_t>(left)) << 32) | static_cast<uint32_t>(right);
}

// Orders a max-heap so that the lowest rank, then the leftmost, comes out first.
bool LaterCandidate(const BpeModel::Scratch::Candidate& a, const BpeModel::Scratch::Candidate& b) {
  return a.rank != b.rank ? a.rank > b.rank : a.left > b.left;
}

using SpellingIndex = absl::flat_hash_map<absl::string_view, int32_t>;

absl::StatusOr<int32_t> FindMergeToken(const SpellingIndex& ids, absl::string_view spelling,
                                       size_t merge) {
  const auto found = ids.find(spelling);
  if (found == ids.end()) {
    return absl::InvalidArgumentError(absl::StrCat("tokenizer: merge ", merge, " needs the token '",
                                                   spelling.substr(0, 80),
                                                   "', which is not in the vocabulary"));
  }
  return found->second;
}

}  // namespace

absl::StatusOr<BpeModel> BpeModel::Create(const BpeDefinition& definition) {
  BpeModel model;
  model.unknown_ = definition.unknown;
  SpellingIndex ids;
  ids.reserve(definition.tokens.size());
  for (size_t id = 0; id < definition.tokens.size(); ++id) {
    const TokenDefinition& token = definition.tokens[id];
    if (token.kind == TokenKind::kAbsent) continue;
    ids.emplace(token.spelling, static_cast<int32_t>(id));
    if (definition.ignore_merges && token.kind == TokenKind::kNormal) {
      if (auto bytes = DecodeByteLevel(token.spelling)) {
        model.whole_pieces_.emplace(std::move(*bytes), static_cast<int32_t>(id));
      }
    }
  }
  for (int byte = 0; byte < 256; ++byte) {
    const auto found = ids.find(ByteLevelSymbol(static_cast<uint8_t>(byte)));
    model.byte_tokens_[byte] = found == ids.end() ? -1 : found->second;
  }
  model.merges_.reserve(definition.merges.size());
  for (size_t i = 0; i < definition.merges.size(); ++i) {
    const auto& [left, right] = definition.merges[i];
    SHOAL_ASSIGN_OR_RETURN(const int32_t left_id, FindMergeToken(ids, left, i));
    SHOAL_ASSIGN_OR_RETURN(const int32_t right_id, FindMergeToken(ids, right, i));
    SHOAL_ASSIGN_OR_RETURN(const int32_t merged, FindMergeToken(ids, left + right, i));
    // Ordinary text must never become a control token, not even by merging.
    if (definition.tokens[merged].kind == TokenKind::kControl) continue;
    // A pair listed twice keeps its last rank, as in the reference implementation.
    model.merges_[PairKey(left_id, right_id)] = {static_cast<uint32_t>(i), merged};
  }
  return model;
}

const BpeModel::Merge* BpeModel::FindMerge(int32_t left, int32_t right) const {
  const auto found = merges_.find(PairKey(left, right));
  return found == merges_.end() ? nullptr : &found->second;
}

void BpeModel::SplitIntoBytes(absl::string_view piece, Scratch* scratch) const {
  auto& symbols = scratch->symbols;
  symbols.clear();
  for (const char c : piece) {
    int32_t token = byte_tokens_[static_cast<uint8_t>(c)];
    if (token < 0) {
      if (!unknown_) continue;
      token = *unknown_;
    }
    const int32_t index = static_cast<int32_t>(symbols.size());
    symbols.push_back({.token = token, .previous = index - 1, .next = index + 1});
  }
  if (!symbols.empty()) symbols.back().next = -1;
}

void BpeModel::MergeShort(Scratch* scratch) const {
  auto& symbols = scratch->symbols;
  size_t count = symbols.size();
  // The merge of each symbol with its right neighbour, kept beside the symbols.
  const Merge* pairs[kShortPieceSymbols];
  for (size_t i = 0; i + 1 < count; ++i)
    pairs[i] = FindMerge(symbols[i].token, symbols[i + 1].token);
  while (count > 1) {
    size_t best = count;
    uint32_t best_rank = UINT32_MAX;
    for (size_t i = 0; i + 1 < count; ++i) {
      if (pairs[i] != nullptr && pairs[i]->rank < best_rank) {
        best_rank = pairs[i]->rank;
        best = i;
      }
    }
    if (best == count) break;
    symbols[best].token = pairs[best]->token;
    for (size_t i = best + 1; i + 1 < count; ++i) {
      symbols[i].token = symbols[i + 1].token;
      pairs[i] = i + 2 < count ? pairs[i + 1] : nullptr;
    }
    --count;
    if (best > 0) pairs[best - 1] = FindMerge(symbols[best - 1].token, symbols[best].token);
    pairs[best] =
        best + 1 < count ? FindMerge(symbols[best].token, symbols[best + 1].token) : nullptr;
  }
  symbols.resize(count);
  for (size_t i = 0; i < count; ++i)
    symbols[i].next = i + 1 < count ? static_cast<int32_t>(i + 1) : -1;
}

void BpeModel::PushCandidate(Scratch* scratch, int32_t left) const {
  const int32_t right = scratch->symbols[left].next;
  if (right < 0) return;
  const int32_t left_token = scratch->symbols[left].token;
  const int32_t right_token = scratch->symbols[right].token;
  const Merge* merge = FindMerge(left_token, right_token);
  if (merge == nullptr) return;
  scratch->heap.push_back({.rank = merge->rank,
                           .left = left,
                           .left_token = left_token,
                           .right_token = right_token,
                           .merged = merge->token});
  std::push_heap(scratch->heap.begin(), scratch->heap.end(), LaterCandidate);
}

void BpeModel::MergeLong(Scratch* scratch) const {
  auto& symbols = scratch->symbols;
  scratch->heap.clear();
  for (size_t i = 0; i + 1 < symbols.size(); ++i) PushCandidate(scratch, static_cast<int32_t>(i));
  while (!scratch->heap.empty()) {
    std::pop_heap(scratch->heap.begin(), scratch->heap.end(), LaterCandidate);
    const Scratch::Candidate best = scratch->heap.back();
    scratch->heap.pop_back();
    Scratch::Symbol& left = symbols[best.left];
    // A candidate outlived by another merge at its place no longer names what is there; a symbol
    // swallowed by its left neighbour carries token -1.
    if (left.token != best.left_token || left.next < 0) continue;
    const int32_t right = left.next;
    if (symbols[right].token != best.right_token) continue;
    left.token = best.merged;
    left.next = symbols[right].next;
    symbols[right].token = -1;
    if (left.next >= 0) symbols[left.next].previous = best.left;
    PushCandidate(scratch, best.left);
    if (left.previous >= 0) PushCandidate(scratch, left.previous);
  }
}

void BpeModel::EncodePiece(absl::string_view piece, Scratch* scratch,
                           std::vector<int32_t>* out) const {
  if (!whole_pieces_.empty()) {
    const auto found = whole_pieces_.find(piece);
    if (found != whole_pieces_.end()) {
      out->push_back(found->second);
      return;
    }
  }
  SplitIntoBytes(piece, scratch);
  const auto& symbols = scratch->symbols;
  if (symbols.empty()) return;
  if (symbols.size() <= kShortPieceSymbols) {
    MergeShort(scratch);
  } else {
    MergeLong(scratch);
  }
  for (int32_t i = 0; i >= 0; i = symbols[i].next) out->push_back(symbols[i].token);
}

}  // namespace shoal::text
