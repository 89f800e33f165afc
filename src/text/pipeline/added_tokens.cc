// SPDX-License-Identifier: Apache-2.0
#include "text/pipeline/added_tokens.h"

#include <algorithm>

#include "text/unicode/category.h"
#include "text/utf8_trusted.h"

namespace shoal::text {
namespace {

bool WordEndsAt(absl::string_view text, size_t position) {
  return position > 0 && IsWordCharacter(StepTrusted(text, CharacterBefore(text, position)).code);
}

bool WordStartsAt(absl::string_view text, size_t position) {
  return position < text.size() && IsWordCharacter(StepTrusted(text, position).code);
}

bool Overlaps(const std::vector<ByteRange>& ranges, size_t begin, size_t end) {
  const auto next = std::partition_point(ranges.begin(), ranges.end(),
                                         [&](const ByteRange& r) { return r.end <= begin; });
  return next != ranges.end() && next->begin < end;
}

}  // namespace

AddedTokens::AddedTokens(const std::vector<TokenDefinition>& tokens) {
  for (size_t id = 0; id < tokens.size(); ++id) {
    const TokenDefinition& token = tokens[id];
    const bool matched = token.kind == TokenKind::kAdded || token.kind == TokenKind::kControl;
    if (!matched || token.spelling.empty()) continue;
    Insert(token, static_cast<int32_t>(id), &tries_[token.normalized ? 1 : 0]);
  }
}

void AddedTokens::Insert(const TokenDefinition& token, int32_t id, Trie* trie) {
  const absl::string_view spelling = token.spelling;
  int32_t node = 0;
  for (const char c : spelling) {
    const uint8_t byte = static_cast<uint8_t>(c);
    auto& children = trie->nodes[node].children;
    auto place = std::lower_bound(children.begin(), children.end(), std::pair(byte, int32_t{-1}));
    if (place == children.end() || place->first != byte) {
      const int32_t created = static_cast<int32_t>(trie->nodes.size());
      children.insert(place, {byte, created});
      trie->nodes.emplace_back();
      node = created;
    } else {
      node = place->second;
    }
  }
  trie->starts[static_cast<uint8_t>(spelling[0])] = true;
  trie->nodes[node].entry = static_cast<int32_t>(trie->entries.size());
  trie->entries.push_back({.token = id,
                           .control = token.kind == TokenKind::kControl,
                           .strip_left = token.strip_left,
                           .strip_right = token.strip_right,
                           .single_word = token.single_word});
}

bool AddedTokens::Allowed(const Entry& entry, absl::string_view text, size_t begin, size_t end,
                          const Rules& rules) {
  if (entry.control) {
    if (!rules.parse_control) return false;
    if (rules.plain != nullptr && Overlaps(*rules.plain, begin, end)) return false;
    if (rules.marks != nullptr &&
        absl::string_view(*rules.marks).substr(begin, end - begin).find('\1') !=
            absl::string_view::npos) {
      return false;
    }
  }
  return !entry.single_word || (!WordEndsAt(text, begin) && !WordStartsAt(text, end));
}

AddedTokens::Found AddedTokens::FindAt(const Trie& trie, absl::string_view text, size_t position,
                                       const Rules& rules) {
  Found best;
  int32_t node = 0;
  for (size_t i = position; i < text.size(); ++i) {
    const auto& children = trie.nodes[node].children;
    const uint8_t byte = static_cast<uint8_t>(text[i]);
    const auto next =
        std::lower_bound(children.begin(), children.end(), std::pair(byte, int32_t{-1}));
    if (next == children.end() || next->first != byte) break;
    node = next->second;
    const int32_t entry = trie.nodes[node].entry;
    if (entry < 0 || !Allowed(trie.entries[entry], text, position, i + 1, rules)) continue;
    best = {.entry = &trie.entries[entry], .end = i + 1};
  }
  return best;
}

std::vector<TextPart> AddedTokens::Split(Pass pass, absl::string_view text,
                                         const Rules& rules) const {
  const Trie& trie = TrieOf(pass);
  std::vector<TextPart> parts;
  size_t done = 0;
  size_t position = 0;
  while (position < text.size() && !trie.entries.empty()) {
    const bool may_start = trie.starts[static_cast<uint8_t>(text[position])];
    const Found found = may_start ? FindAt(trie, text, position, rules) : Found();
    if (found.entry == nullptr) {
      ++position;
      continue;
    }
    size_t begin = position;
    size_t end = found.end;
    while (found.entry->strip_left && begin > done) {
      const size_t before = CharacterBefore(text, begin);
      if (!IsIn(StepTrusted(text, before).code, category::kWhiteSpace)) break;
      begin = before;
    }
    while (found.entry->strip_right && end < text.size()) {
      const TrustedStep step = StepTrusted(text, end);
      if (!IsIn(step.code, category::kWhiteSpace)) break;
      end += step.length;
    }
    if (begin > done) parts.push_back({.begin = done, .end = begin});
    parts.push_back({.begin = begin, .end = end, .token = found.entry->token});
    done = end;
    position = end;
  }
  if (done < text.size()) parts.push_back({.begin = done, .end = text.size()});
  return parts;
}

}  // namespace shoal::text
