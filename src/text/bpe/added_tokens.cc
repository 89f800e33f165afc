// SPDX-License-Identifier: Apache-2.0
#include "text/bpe/added_tokens.h"

#include <utf8proc.h>

#include <algorithm>

#include "text/utf8.h"

namespace shoal::text {
namespace {

// What a regular expression's \w matches.
bool IsWord(uint32_t code) {
  switch (utf8proc_category(static_cast<utf8proc_int32_t>(code))) {
    case UTF8PROC_CATEGORY_LU:
    case UTF8PROC_CATEGORY_LL:
    case UTF8PROC_CATEGORY_LT:
    case UTF8PROC_CATEGORY_LM:
    case UTF8PROC_CATEGORY_LO:
    case UTF8PROC_CATEGORY_MN:
    case UTF8PROC_CATEGORY_MC:
    case UTF8PROC_CATEGORY_ME:
    case UTF8PROC_CATEGORY_ND:
    case UTF8PROC_CATEGORY_NL:
    case UTF8PROC_CATEGORY_PC:
      return true;
    default:
      return code == 0x200C || code == 0x200D;
  }
}

size_t CharacterBefore(absl::string_view text, size_t position) {
  do {
    --position;
  } while (position > 0 && (static_cast<uint8_t>(text[position]) & 0xC0) == 0x80);
  return position;
}

bool WordEndsAt(absl::string_view text, size_t begin, size_t position) {
  return position > begin && IsWord(StepUtf8(text, CharacterBefore(text, position)).code);
}

bool WordStartsAt(absl::string_view text, size_t position, size_t end) {
  return position < end && IsWord(StepUtf8(text, position).code);
}

bool Overlaps(const std::vector<ByteRange>& ranges, size_t begin, size_t end) {
  const auto next = std::partition_point(ranges.begin(), ranges.end(),
                                         [&](const ByteRange& r) { return r.end <= begin; });
  return next != ranges.end() && next->begin < end;
}

}  // namespace

AddedTokens::AddedTokens(const std::vector<TokenDefinition>& tokens) {
  for (Pass& pass : passes_) pass.nodes.emplace_back();
  for (size_t id = 0; id < tokens.size(); ++id) {
    const TokenDefinition& token = tokens[id];
    if (token.kind != TokenKind::kAdded && token.kind != TokenKind::kControl) continue;
    Insert(token, static_cast<int32_t>(id), &passes_[token.normalized ? 1 : 0]);
  }
}

void AddedTokens::Insert(const TokenDefinition& token, int32_t id, Pass* pass) {
  int32_t node = 0;
  for (const char c : token.spelling) {
    const uint8_t byte = static_cast<uint8_t>(c);
    auto& children = pass->nodes[node].children;
    auto place = std::lower_bound(children.begin(), children.end(), std::pair(byte, int32_t{-1}));
    if (place == children.end() || place->first != byte) {
      const int32_t created = static_cast<int32_t>(pass->nodes.size());
      children.insert(place, {byte, created});
      pass->nodes.emplace_back();
      node = created;
    } else {
      node = place->second;
    }
  }
  pass->starts[static_cast<uint8_t>(token.spelling[0])] = true;
  pass->nodes[node].entry = static_cast<int32_t>(pass->entries.size());
  pass->entries.push_back({.token = id,
                           .control = token.kind == TokenKind::kControl,
                           .strip_left = token.strip_left,
                           .strip_right = token.strip_right,
                           .single_word = token.single_word});
}

void AddedTokens::SplitPart(const Pass& pass, absl::string_view text, TextPart part,
                            const Rules& rules, std::vector<TextPart>* out) {
  const auto allowed = [&](const Entry& entry, size_t begin, size_t end) {
    if (entry.control && (!rules.parse_control || Overlaps(*rules.plain, begin, end))) return false;
    return !entry.single_word ||
           (!WordEndsAt(text, part.begin, begin) && !WordStartsAt(text, end, part.end));
  };
  size_t done = part.begin;
  size_t position = part.begin;
  while (position < part.end) {
    if (!pass.starts[static_cast<uint8_t>(text[position])]) {
      ++position;
      continue;
    }
    const Entry* best = nullptr;
    size_t best_end = position;
    int32_t node = 0;
    for (size_t i = position; i < part.end; ++i) {
      const auto& children = pass.nodes[node].children;
      const uint8_t byte = static_cast<uint8_t>(text[i]);
      const auto next =
          std::lower_bound(children.begin(), children.end(), std::pair(byte, int32_t{-1}));
      if (next == children.end() || next->first != byte) break;
      node = next->second;
      const int32_t entry = pass.nodes[node].entry;
      if (entry < 0 || !allowed(pass.entries[entry], position, i + 1)) continue;
      best = &pass.entries[entry];
      best_end = i + 1;
    }
    if (best == nullptr) {
      ++position;
      continue;
    }
    size_t begin = position;
    while (best->strip_left && begin > done) {
      const size_t before = CharacterBefore(text, begin);
      if (!IsUnicodeSpace(StepUtf8(text, before).code)) break;
      begin = before;
    }
    while (best->strip_right && best_end < part.end) {
      const Utf8Step step = StepUtf8(text, best_end);
      if (!IsUnicodeSpace(step.code)) break;
      best_end += step.length;
    }
    if (begin > done) out->push_back({.begin = done, .end = begin});
    out->push_back({.begin = begin, .end = best_end, .token = best->token});
    done = best_end;
    position = best_end;
  }
  if (done < part.end) out->push_back({.begin = done, .end = part.end});
}

std::vector<TextPart> AddedTokens::Split(absl::string_view text, bool parse_control,
                                         const std::vector<ByteRange>& plain) const {
  const Rules rules{.parse_control = parse_control, .plain = &plain};
  std::vector<TextPart> first;
  SplitPart(passes_[0], text, {.begin = 0, .end = text.size()}, rules, &first);
  if (passes_[1].entries.empty()) return first;
  std::vector<TextPart> second;
  for (const TextPart& part : first) {
    if (part.token >= 0) {
      second.push_back(part);
    } else {
      SplitPart(passes_[1], text, part, rules, &second);
    }
  }
  return second;
}

}  // namespace shoal::text
