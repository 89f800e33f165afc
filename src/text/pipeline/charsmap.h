// SPDX-License-Identifier: Apache-2.0
// Charsmap: SentencePiece's precompiled normalization rules, a double-array trie of texts and what
// each becomes. The layout is that of the darts-clone library, as SentencePiece writes it.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"

namespace shoal::text {

// Immutable, safe from any thread.
class Charsmap {
 public:
  // INVALID_ARGUMENT for a blob that is cut off. Any other content is safe, if without sense.
  static absl::StatusOr<Charsmap> Parse(absl::string_view blob);

  struct Match {
    absl::string_view replacement;
    size_t length = 0;  // bytes of the text that matched
  };
  // The rule for the shortest or the longest prefix of `text` that has one.
  std::optional<Match> Shortest(absl::string_view text) const { return Find(text, true); }
  std::optional<Match> Longest(absl::string_view text) const { return Find(text, false); }

 private:
  Charsmap() = default;
  std::optional<Match> Find(absl::string_view text, bool shortest) const;

  std::vector<uint32_t> units_;
  std::string replacements_;  // each ends with a zero byte
};

}  // namespace shoal::text
