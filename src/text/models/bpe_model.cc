// SPDX-License-Identifier: Apache-2.0
#include "text/models/bpe_model.h"

#include <algorithm>

#include "base/status.h"
#include "text/models/byte_level.h"
#include "text/utf8_trusted.h"

namespace shoal::text {
namespace {

// Up to here scanning all pairs for the best is faster than a heap.
constexpr size_t kShortPieceSymbols = 24;

uint64_t PairKey(int32_t left, int32_t right) {
  return (static_cast<uint64_t>(static_cast<uint32_t>(left)) << 32) | static_cast<uint32_t>(right);
}

// Orders a max-heap so that the lowest rank, then the leftmost, comes out first.
bool LaterCandidate(const ModelScratch::Candidate& a, const ModelScratch::Candidate& b) {
  return a.rank != b.rank ? a.rank > b.rank : a.left > b.left;
}

}  // namespace

BpeModel::BpeModel(const TokenizerDefinition& definition)
    : byte_level_(definition.model.kind == ModelKind::kByteLevelBpe),
      fuse_unknown_(definition.model.fuse_unknown),
      unknown_(definition.model.unknown),
      byte_fallback_(definition),
      cuts_(definition) {
  byte_tokens_.fill(-1);
}

absl::StatusOr<BpeModel> BpeModel::Create(const TokenizerDefinition& definition) {
  BpeModel model(definition);
  SpellingIndex ids;
  ids.reserve(definition.tokens.size());
  for (size_t id = 0; id < definition.tokens.size(); ++id) {
    const TokenDefinition& token = definition.tokens[id];
    const int32_t index = static_cast<int32_t>(id);
    if (token.kind == TokenKind::kAbsent) continue;
    ids.emplace(token.spelling, index);
    if (!MadeFromText(token)) continue;
    if (definition.model.ignore_merges && token.kind == TokenKind::kNormal) {
      auto bytes = model.byte_level_ ? DecodeByteLevel(token.spelling)
                                     : std::optional<std::string>(token.spelling);
      if (bytes) model.whole_pieces_.emplace(std::move(*bytes), index);
    }
    if (model.byte_level_ || token.spelling.empty()) continue;
    const TrustedStep step = StepTrusted(token.spelling, 0);
    if (step.length != token.spelling.size()) continue;
    if (step.code < 0x80) {
      model.byte_tokens_[step.code] = index;
    } else {
      model.character_tokens_.emplace(step.code, index);
    }
  }
  for (int byte = 0; byte < 256 && model.byte_level_; ++byte) {
    const auto found = ids.find(ByteLevelSymbol(static_cast<uint8_t>(byte)));
    model.byte_tokens_[byte] = found == ids.end() ? -1 : found->second;
  }
  SHOAL_RETURN_IF_ERROR(model.ReadMerges(definition, ids));
  return model;
}

absl::Status BpeModel::ReadMerges(const TokenizerDefinition& definition, const SpellingIndex& ids) {
  const auto& merges = definition.model.merges;
  const auto find = [&](absl::string_view spelling, size_t merge) -> absl::StatusOr<int32_t> {
    const auto found = ids.find(spelling);
    if (found != ids.end()) return found->second;
    return absl::InvalidArgumentError(absl::StrCat("tokenizer: merge ", merge, " needs the token '",
                                                   spelling.substr(0, 80),
                                                   "', which is not in the vocabulary"));
  };
  merges_.reserve(merges.size());
  for (size_t i = 0; i < merges.size(); ++i) {
    const auto& [left, right] = merges[i];
    SHOAL_ASSIGN_OR_RETURN(const int32_t left_id, find(left, i));
    SHOAL_ASSIGN_OR_RETURN(const int32_t right_id, find(right, i));
    SHOAL_ASSIGN_OR_RETURN(const int32_t merged, find(left + right, i));
    // Ordinary text must never become a control token, not even by merging.
    if (definition.tokens[merged].kind == TokenKind::kControl) continue;
    // A pair listed twice keeps its last rank, as in the reference implementation.
    merges_[PairKey(left_id, right_id)] = {static_cast<uint32_t>(i), merged};
  }
  return absl::OkStatus();
}

const BpeModel::Merge* BpeModel::FindMerge(int32_t left, int32_t right) const {
  const auto found = merges_.find(PairKey(left, right));
  return found == merges_.end() ? nullptr : &found->second;
}

void BpeModel::SplitIntoBytes(absl::string_view piece, ModelScratch* scratch) const {
  for (const char c : piece) {
    const int32_t token = byte_tokens_[static_cast<uint8_t>(c)];
    if (token >= 0) {
      scratch->symbols.push_back({.token = token});
    } else if (unknown_) {
      scratch->symbols.push_back({.token = *unknown_});
    }
  }
}

void BpeModel::SplitIntoCharacters(absl::string_view piece, ModelScratch* scratch) const {
  auto& symbols = scratch->symbols;
  std::vector<int32_t> bytes;
  bool after_unknown = false;
  for (size_t position = 0; position < piece.size();) {
    const TrustedStep step = StepTrusted(piece, position);
    int32_t token = -1;
    if (step.code < 0x80) {
      token = byte_tokens_[step.code];
    } else if (const auto found = character_tokens_.find(step.code);
               found != character_tokens_.end()) {
      token = found->second;
    }
    const absl::string_view character = piece.substr(position, step.length);
    position += step.length;
    bytes.clear();
    if (token >= 0) {
      symbols.push_back({.token = token});
    } else if (byte_fallback_.Append(character, &bytes)) {
      for (const int32_t byte : bytes) symbols.push_back({.token = byte});
    } else if (unknown_ && !(after_unknown && fuse_unknown_)) {
      symbols.push_back({.token = *unknown_});
      after_unknown = true;
      continue;
    } else {
      continue;
    }
    after_unknown = false;
  }
}

void BpeModel::MergeShort(ModelScratch* scratch) const {
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

void BpeModel::PushCandidate(ModelScratch* scratch, int32_t left) const {
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

void BpeModel::MergeLong(ModelScratch* scratch) const {
  auto& symbols = scratch->symbols;
  scratch->heap.clear();
  for (size_t i = 0; i + 1 < symbols.size(); ++i) PushCandidate(scratch, static_cast<int32_t>(i));
  while (!scratch->heap.empty()) {
    std::pop_heap(scratch->heap.begin(), scratch->heap.end(), LaterCandidate);
    const ModelScratch::Candidate best = scratch->heap.back();
    scratch->heap.pop_back();
    ModelScratch::Symbol& left = symbols[best.left];
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

void BpeModel::EncodePiece(absl::string_view piece, ModelScratch* scratch,
                           std::vector<int32_t>* out) const {
  if (!whole_pieces_.empty()) {
    const auto found = whole_pieces_.find(piece);
    if (found != whole_pieces_.end()) {
      out->push_back(found->second);
      return;
    }
  }
  auto& symbols = scratch->symbols;
  symbols.clear();
  if (byte_level_) {
    SplitIntoBytes(piece, scratch);
  } else {
    SplitIntoCharacters(piece, scratch);
  }
  if (symbols.empty()) return;
  for (size_t i = 0; i < symbols.size(); ++i) {
    symbols[i].previous = static_cast<int32_t>(i) - 1;
    symbols[i].next = static_cast<int32_t>(i) + 1;
  }
  symbols.back().next = -1;
  if (symbols.size() <= kShortPieceSymbols) {
    MergeShort(scratch);
  } else {
    MergeLong(scratch);
  }
  for (int32_t i = 0; i >= 0; i = symbols[i].next) out->push_back(symbols[i].token);
}

void BpeModel::Cut(absl::string_view piece, std::vector<absl::string_view>* parts) const {
  if (byte_level_) {
    parts->push_back(piece);
  } else {
    cuts_.Cut(piece, parts);
  }
}

}  // namespace shoal::text
