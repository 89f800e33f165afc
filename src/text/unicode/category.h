// SPDX-License-Identifier: Apache-2.0
// General categories of the Unicode standard, as sets that one table look-up answers.
// Pure functions, safe from any thread.
#pragma once

#include <cstdint>
#include <optional>

#include "absl/strings/string_view.h"

namespace shoal::text {

// A set of general categories, one bit each (bit = utf8proc's number), and white space as one more.
using CategorySet = uint32_t;

namespace category {

inline constexpr CategorySet kUppercase = 1u << 1;
inline constexpr CategorySet kLowercase = 1u << 2;
inline constexpr CategorySet kTitlecase = 1u << 3;
inline constexpr CategorySet kModifierLetter = 1u << 4;
inline constexpr CategorySet kOtherLetter = 1u << 5;
inline constexpr CategorySet kLetter =
    kUppercase | kLowercase | kTitlecase | kModifierLetter | kOtherLetter;
inline constexpr CategorySet kNonspacingMark = 1u << 6;
inline constexpr CategorySet kMark = 7u << 6;
inline constexpr CategorySet kDecimalNumber = 1u << 9;
inline constexpr CategorySet kLetterNumber = 1u << 10;
inline constexpr CategorySet kNumber = 7u << 9;
inline constexpr CategorySet kConnector = 1u << 12;
inline constexpr CategorySet kPunctuation = 0x7Fu << 12;
inline constexpr CategorySet kSymbol = 15u << 19;
inline constexpr CategorySet kSeparator = 7u << 23;
inline constexpr CategorySet kControl = 1u << 26;
inline constexpr CategorySet kFormat = 1u << 27;
inline constexpr CategorySet kPrivateUse = 1u << 29;
inline constexpr CategorySet kOther = (15u << 26) | 1u;  // with unassigned characters
inline constexpr CategorySet kAnyCategory = (1u << 30) - 1;
inline constexpr CategorySet kWhiteSpace = 1u << 31;  // the property, beside the category
// What a regular expression's \w matches, in Oniguruma's reading.
inline constexpr CategorySet kWordCharacter = kLetter | kMark | kDecimalNumber | kConnector;

}  // namespace category

// The category of `code`, and kWhiteSpace where it has that property: one or two bits.
CategorySet CategoryOf(uint32_t code);

inline bool IsIn(uint32_t code, CategorySet set) { return (CategoryOf(code) & set) != 0; }

// "L", "Lu", "N", ...: the set of that name.
std::optional<CategorySet> CategoryNamed(absl::string_view name);

// A character of a word as Rust's regular expressions see it.
bool IsWordCharacter(uint32_t code);

}  // namespace shoal::text
