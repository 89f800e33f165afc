// SPDX-License-Identifier: Apache-2.0
// AddedTokens: finds the tokens that are matched whole, before the text is cut into pieces.
#pragma once

#include <cstdint>
#include <vector>

#include "absl/strings/string_view.h"
#include "text/bpe/bpe_definition.h"

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
  explicit AddedTokens(const std::vector<TokenDefinition>& tokens);

  // Cuts `text` (well-formed UTF-8), leftmost longest match first. Where a control token is not
  // allowed its spelling is ordinary text: nowhere when `parse_control` is false, else where any
  // byte of it lies in one of `plain` (sorted, disjoint).
  std::vector<TextPart> Split(absl::string_view text, bool parse_control,
                              const std::vector<ByteRange>& plain) const;

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
  struct Pass {
    std::vector<Entry> entries;
    std::vector<Node> nodes;
    bool starts[256] = {};
  };
  struct Rules {
    bool parse_control = true;
    const std::vector<ByteRange>* plain = nullptr;
  };

  static void Insert(const TokenDefinition& token, int32_t id, Pass* pass);
  static void SplitPart(const Pass& pass, absl::string_view text, TextPart part, const Rules& rules,
                        std::vector<TextPart>* out);

  Pass passes_[2];  // tokens that are not `normalized` first
};

}  // namespace shoal::text
