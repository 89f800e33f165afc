// SPDX-License-Identifier: Apache-2.0
// Pattern: the regular expressions that tokenizer files cut text with, matched in time linear in
// the text for every expression that published tokenizers use.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "text/regex/program.h"
#include "text/tokenizer.h"

namespace shoal::text {

// Immutable, safe from any thread. Backtracking semantics of Perl and Oniguruma: the first
// alternative that matches, each repetition as long as the rest allows.
class Pattern {
 public:
  // INVALID_ARGUMENT naming the expression and what of it is not supported.
  static absl::StatusOr<std::shared_ptr<const Pattern>> Compile(absl::string_view expression);
  // Matches `text` itself, which must not be empty.
  static std::shared_ptr<const Pattern> Literal(absl::string_view text);

  // Appends all matches in `text` (well-formed UTF-8), leftmost first, not overlapping; empty ones
  // are left out. INVALID_ARGUMENT when an unusual expression would take too long on it.
  absl::Status FindAll(absl::string_view text, std::vector<ByteRange>* matches) const;

 private:
  Pattern() = default;
  void Prepare();

  std::string expression_;
  regex::Alternatives alternatives_;
  // Which alternatives (a bit each) can begin with this byte.
  uint32_t begins_[256] = {};
};

}  // namespace shoal::text
