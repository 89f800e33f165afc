// SPDX-License-Identifier: Apache-2.0
// What a regular expression compiles to: alternatives of sequences of atoms over sets of
// characters. Plain values, immutable once parsed.
#pragma once

#include <cstddef>
#include <cstdint>
#include <utility>
#include <vector>

#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "text/unicode/category.h"

namespace shoal::text::regex {

inline constexpr size_t kUnbounded = SIZE_MAX;

// A set of characters: the union of its parts, or (negated) everything else.
struct CharSet {
  std::vector<std::pair<uint32_t, uint32_t>> ranges;  // inclusive
  CategorySet categories = 0;
  bool not_space = false;  // \S inside brackets
  bool negated = false;
  uint64_t ascii[2] = {0, 0};  // the answer for every ASCII character, made by Finish

  bool Matches(uint32_t code) const {
    if (code < 0x80) return ((ascii[code >> 6] >> (code & 63u)) & 1u) != 0;
    return MatchesSlowly(code);
  }
  bool MatchesSlowly(uint32_t code) const;
  void Finish();
};

struct Sequence;
using Alternatives = std::vector<Sequence>;

struct Atom {
  enum class Type {
    kSet,       // min..max characters of the set, as many as possible
    kGroup,     // one of `group`, or (min 0) none
    kAhead,     // the next character exists and is in the set; nothing is consumed
    kNotAhead,  // there is no next character in the set
    kLineEnd,   // the end of the text, or a line feed follows
  };
  Type type = Type::kSet;
  CharSet set;
  Alternatives group;
  size_t min = 1;
  size_t max = 1;
  bool possessive = false;  // never gives back what it took
};

struct Sequence {
  std::vector<Atom> atoms;
};

// INVALID_ARGUMENT naming the construct this build does not have: it has alternatives, groups
// (plain, non-capturing, case-insensitive; at most optional), sets with \p{..}, \s, \w, \d, single
// characters, greedy and possessive quantifiers, one-set look-ahead and $.
absl::StatusOr<Alternatives> Parse(absl::string_view expression);

}  // namespace shoal::text::regex
