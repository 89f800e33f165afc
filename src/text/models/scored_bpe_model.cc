// SPDX-License-Identifier: Apache-2.0
#include "text/models/scored_bpe_model.h"

#include <algorithm>

#include "text/utf8_trusted.h"

namespace shoal::text {
namespace {

// Orders a max-heap so that the best score, then the leftmost, comes out first.
bool LaterCandidate(const ModelScratch::ScoredCandidate& a,
                    const ModelScratch::ScoredCandidate& b) {
  return a.score != b.score ? a.score < b.score : a.left > b.left;
}

absl::string_view TextOf(absl::string_view piece, const ModelScratch::Symbol& symbol) {
  return piece.substr(symbol.begin, symbol.size);
}

}  // namespace

ScoredBpeModel::ScoredBpeModel(const TokenizerDefinition& definition)
    : unknown_(definition.model.unknown),
      fuse_unknown_(definition.model.fuse_unknown),
      byte_fallback_(definition),
      cuts_(definition) {
  for (size_t id = 0; id < definition.tokens.size(); ++id) {
    const TokenDefinition& token = definition.tokens[id];
    if (!MadeFromText(token)) continue;
    tokens_.emplace(token.spelling, Token{.id = static_cast<int32_t>(id), .score = token.score});
    longest_ = std::max(longest_, token.spelling.size());
  }
}

const ScoredBpeModel::Token* ScoredBpeModel::Find(absl::string_view spelling) const {
  if (spelling.size() > longest_) return nullptr;
  const auto found = tokens_.find(spelling);
  return found == tokens_.end() ? nullptr : &found->second;
}

void ScoredBpeModel::PushCandidate(absl::string_view piece, ModelScratch* scratch,
                                   int32_t left) const {
  const auto& symbols = scratch->symbols;
  if (left < 0 || symbols[left].next < 0) return;
  const uint32_t size = symbols[left].size + symbols[symbols[left].next].size;
  const Token* token = Find(piece.substr(symbols[left].begin, size));
  if (token == nullptr) return;
  scratch->scored_heap.push_back({.score = token->score, .left = left, .size = size});
  std::push_heap(scratch->scored_heap.begin(), scratch->scored_heap.end(), LaterCandidate);
}

void ScoredBpeModel::Merge(absl::string_view piece, ModelScratch* scratch) const {
  auto& symbols = scratch->symbols;
  auto& heap = scratch->scored_heap;
  heap.clear();
  for (size_t i = 0; i < symbols.size(); ++i) {
    PushCandidate(piece, scratch, static_cast<int32_t>(i));
  }
  while (!heap.empty()) {
    std::pop_heap(heap.begin(), heap.end(), LaterCandidate);
    const ModelScratch::ScoredCandidate best = heap.back();
    heap.pop_back();
    ModelScratch::Symbol& left = symbols[best.left];
    // A candidate that another merge outlived no longer has the size of what is there; a symbol
    // swallowed by its left neighbour has none.
    if (left.size == 0 || left.next < 0) continue;
    ModelScratch::Symbol& right = symbols[left.next];
    if (left.size + right.size != best.size) continue;
    left.size = best.size;
    left.next = right.next;
    right.size = 0;
    if (left.next >= 0) symbols[left.next].previous = best.left;
    PushCandidate(piece, scratch, left.previous);
    PushCandidate(piece, scratch, best.left);
  }
}

void ScoredBpeModel::EncodePiece(absl::string_view piece, ModelScratch* scratch,
                                 std::vector<int32_t>* out) const {
  auto& symbols = scratch->symbols;
  symbols.clear();
  for (size_t position = 0; position < piece.size();) {
    const size_t length = StepTrusted(piece, position).length;
    const int32_t index = static_cast<int32_t>(symbols.size());
    symbols.push_back({.previous = index - 1,
                       .next = index + 1,
                       .begin = static_cast<uint32_t>(position),
                       .size = static_cast<uint32_t>(length)});
    position += length;
  }
  if (symbols.empty()) return;
  symbols.back().next = -1;
  Merge(piece, scratch);
  bool after_unknown = false;
  for (int32_t i = 0; i >= 0; i = symbols[i].next) {
    const absl::string_view text = TextOf(piece, symbols[i]);
    bool unknown = false;
    if (const Token* token = Find(text)) {
      out->push_back(token->id);
    } else if (!byte_fallback_.Append(text, out) && unknown_) {
      if (!(after_unknown && fuse_unknown_)) out->push_back(*unknown_);
      unknown = true;
    }
    after_unknown = unknown;
  }
}

}  // namespace shoal::text
