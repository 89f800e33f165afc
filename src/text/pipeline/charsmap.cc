// SPDX-License-Identifier: Apache-2.0
#include "text/pipeline/charsmap.h"

#include <algorithm>

#include "base/status.h"
#include "text/utf8.h"

namespace shoal::text {
namespace {

constexpr uint32_t kLabelMask = (1u << 31) | 0xFFu;
constexpr uint32_t kValueMask = (1u << 31) - 1;

uint32_t OffsetOf(uint32_t unit) { return (unit >> 10) << ((unit & (1u << 9)) >> 6); }

bool IsContinuation(char c) { return (static_cast<uint8_t>(c) & 0xC0) == 0x80; }

bool HasLeaf(uint32_t unit) { return ((unit >> 8) & 1u) != 0; }

uint32_t ReadLittleEndian(const char* bytes) {
  uint32_t value = 0;
  for (int i = 3; i >= 0; --i) value = (value << 8) | static_cast<uint8_t>(bytes[i]);
  return value;
}

}  // namespace

absl::StatusOr<Charsmap> Charsmap::Parse(absl::string_view blob) {
  Charsmap map;
  if (blob.size() < 4) return absl::InvalidArgumentError("precompiled_charsmap is cut off");
  const size_t trie_bytes = ReadLittleEndian(blob.data());
  blob.remove_prefix(4);
  if (trie_bytes > blob.size() || trie_bytes % 4 != 0 || trie_bytes == 0) {
    return absl::InvalidArgumentError(absl::StrCat("precompiled_charsmap: a trie of ", trie_bytes,
                                                   " bytes in ", blob.size(), " bytes"));
  }
  map.units_.reserve(trie_bytes / 4);
  for (size_t i = 0; i < trie_bytes; i += 4) map.units_.push_back(ReadLittleEndian(&blob[i]));
  map.replacements_ = std::string(blob.substr(trie_bytes));
  if (FindIllFormed(map.replacements_) != absl::string_view::npos) {
    return absl::InvalidArgumentError("precompiled_charsmap: replacements that are not UTF-8");
  }
  return map;
}

std::optional<Charsmap::Match> Charsmap::Find(absl::string_view text, bool shortest) const {
  std::optional<Match> best;
  size_t node = OffsetOf(units_[0]);
  for (size_t i = 0; i < text.size(); ++i) {
    const uint8_t byte = static_cast<uint8_t>(text[i]);
    if (byte == 0) break;
    node ^= byte;
    if (node >= units_.size()) break;
    const uint32_t unit = units_[node];
    if ((unit & kLabelMask) != byte) break;
    node ^= OffsetOf(unit);
    if (!HasLeaf(unit) || (i + 1 < text.size() && IsContinuation(text[i + 1]))) continue;
    if (node >= units_.size()) break;
    const size_t begin = units_[node] & kValueMask;
    if (begin >= replacements_.size() || IsContinuation(replacements_[begin])) break;
    const size_t end = std::min(replacements_.find('\0', begin), replacements_.size());
    best = Match{.replacement = absl::string_view(replacements_).substr(begin, end - begin),
                 .length = i + 1};
    if (shortest) break;
  }
  return best;
}

}  // namespace shoal::text
