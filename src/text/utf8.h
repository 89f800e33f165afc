// SPDX-License-Identifier: Apache-2.0
// UTF-8 as the Unicode standard defines it: stepping, validation, replacement of ill-formed parts.
// Pure functions, safe from any thread.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>

#include "absl/strings/string_view.h"

namespace shoal::text {

enum class Utf8Kind {
  kCharacter,   // a whole well-formed character
  kIncomplete,  // the text ends inside what may still become a character
  kIllFormed,   // a maximal subpart that can never become one
};

struct Utf8Step {
  Utf8Kind kind = Utf8Kind::kCharacter;
  uint32_t code = 0;  // the code point, of a whole character only
  int length = 0;     // bytes covered, at least 1
};

// Looks at `position`, which must be inside `text`.
Utf8Step StepUtf8(absl::string_view text, size_t position);

// The offset of the first byte that is not part of a well-formed character; npos: all is well.
size_t FindIllFormed(absl::string_view text);

// Appends `text` to `out`, each ill-formed maximal subpart as one U+FFFD (also one at the end).
void AppendReplacingIllFormed(absl::string_view text, std::string* out);

// Appends the character. `code` must be a Unicode scalar value.
void AppendUtf8(uint32_t code, std::string* out);

// The number of characters of well-formed text.
size_t CountCharacters(absl::string_view text);

// White_Space of the Unicode standard, without the four separators Python adds (U+001C..U+001F).
bool IsUnicodeSpace(uint32_t code);

}  // namespace shoal::text
