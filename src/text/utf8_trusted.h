// SPDX-License-Identifier: Apache-2.0
// Stepping over text that is known to be well-formed UTF-8, without checking it again.
#pragma once

#include <cstddef>
#include <cstdint>

#include "absl/strings/string_view.h"

namespace shoal::text {

struct TrustedStep {
  uint32_t code = 0;
  size_t length = 1;
};

// The character at `position`, which must be the start of one.
inline TrustedStep StepTrusted(absl::string_view text, size_t position) {
  const auto* p = reinterpret_cast<const uint8_t*>(text.data()) + position;
  if (p[0] < 0x80) return {.code = p[0], .length = 1};
  if (p[0] < 0xE0) return {.code = ((p[0] & 0x1Fu) << 6) | (p[1] & 0x3Fu), .length = 2};
  if (p[0] < 0xF0) {
    return {.code = ((p[0] & 0x0Fu) << 12) | ((p[1] & 0x3Fu) << 6) | (p[2] & 0x3Fu), .length = 3};
  }
  return {.code = ((p[0] & 0x07u) << 18) | ((p[1] & 0x3Fu) << 12) | ((p[2] & 0x3Fu) << 6) |
                  (p[3] & 0x3Fu),
          .length = 4};
}

// The start of the character that ends before `position` (above 0).
inline size_t CharacterBefore(absl::string_view text, size_t position) {
  do {
    --position;
  } while (position > 0 && (static_cast<uint8_t>(text[position]) & 0xC0) == 0x80);
  return position;
}

}  // namespace shoal::text
