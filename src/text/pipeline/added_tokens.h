// SPDX-License-Identifier: Apache-2.0
// AddedTokens: finds the tokens that are matched whole, before the text is cut into pieces.
#pragma once

#include <cstdint>
#include <string>
#include <utility>
#include <vector>

#include "absl/strings/string_view.h"
#include "text/tokenizer_definition.h"

namespace shoal::text {

// A part of the text: one added token, or (token -1) ordinary text.
struct TextPart {
  size_t begin = 0;
  size_t end = 0;
  int32_t token = -1;
};

// Immutable after construction, safe from any thread.
class AddedTokens {
 public:
  enum class Pass { kRaw, kNormalized };

  // Tokens that are `normalized` have the spelling of normalized text here.
  explicit AddedTokens(const std::vector<TokenDefinition>& tokens);

  struct Rules {
    bool parse_control = true;  // false: spellings of control tokens are ordinary text
    // Else a spelling is ordinary text where any byte of it lies in one of these (sorted,
    // disjoint), or has a mark of 1 (if not null; as long as the text).
    const std::vector<ByteRange>* plain = nullptr;
    const std::string* marks = nullptr;
  };
  // Cuts `text` (well-formed UTF-8), leftmost longest match first.
  std::vector<TextPart> Split(Pass pass, absl::string_view text, const Rules& rules) const;
  bool Has(Pass pass) const { return !TrieOf(pass).entries.empty(); }

 private:
  struct Entry {
    int32_t token = 0;
    bool control = false;
    bool strip_left = false;
    bool strip_right = false;
    bool single_word = false;
  };
  struct Node {
    std::vector<std::pair<uint8_t, int32_t>> children;  // sorted by byte
    int32_t entry = -1;
  };
  struct Trie {
    std::vector<Entry> entries;
    std::vector<Node> nodes{Node()};
    bool starts[256] = {};
  };
  struct Found {
    const Entry* entry = nullptr;
    size_t end = 0;
  };

  const Trie& TrieOf(Pass pass) const { return tries_[pass == Pass::kRaw ? 0 : 1]; }
  static void Insert(const TokenDefinition& token, int32_t id, Trie* trie);
  static Found FindAt(const Trie& trie, absl::string_view text, size_t position,
                      const Rules& rules);
  static bool Allowed(const Entry& entry, absl::string_view text, size_t begin, size_t end,
                      const Rules& rules);

  Trie tries_[2];
};

}  // namespace shoal::text
