// SPDX-License-Identifier: Apache-2.0
// The byte-level alphabet of GPT-2: every byte has a printable character that stands for it in
// vocabulary files. Pure functions, safe from any thread.
#pragma once

#include <cstdint>
#include <optional>
#include <string>

#include "absl/strings/string_view.h"

namespace shoal::text {

// The character (UTF-8) that spells `byte`.
std::string ByteLevelSymbol(uint8_t byte);

// The bytes a vocabulary spelling stands for; nullopt when a character is not of the alphabet.
std::optional<std::string> DecodeByteLevel(absl::string_view spelling);

}  // namespace shoal::text
