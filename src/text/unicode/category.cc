// SPDX-License-Identifier: Apache-2.0
#include "text/unicode/category.h"

#include <utf8proc.h>

#include <array>
#include <map>
#include <string>
#include <utility>
#include <vector>

#include "text/utf8.h"

namespace shoal::text {
namespace {

constexpr uint32_t kCodes = 0x110000;
constexpr uint32_t kBlock = 256;
constexpr uint8_t kSpaceBit = 0x20;

// Blocks of 256 characters, equal blocks stored once.
struct Table {
  std::array<uint16_t, kCodes / kBlock> blocks{};
  std::vector<uint8_t> values;
};

Table* MakeTable() {
  auto* table = new Table;
  std::map<std::string, uint16_t> known;
  for (uint32_t block = 0; block < kCodes / kBlock; ++block) {
    std::string values(kBlock, '\0');
    for (uint32_t i = 0; i < kBlock; ++i) {
      const uint32_t code = block * kBlock + i;
      uint8_t value = static_cast<uint8_t>(utf8proc_category(static_cast<utf8proc_int32_t>(code)));
      if (IsUnicodeSpace(code)) value |= kSpaceBit;
      values[i] = static_cast<char>(value);
    }
    const auto [place, fresh] = known.emplace(values, static_cast<uint16_t>(known.size()));
    if (fresh) table->values.insert(table->values.end(), values.begin(), values.end());
    table->blocks[block] = place->second;
  }
  return table;
}

}  // namespace

CategorySet CategoryOf(uint32_t code) {
  static const Table* const kTable = MakeTable();
  if (code >= kCodes) return 1u;
  const uint8_t value =
      kTable->values[uint32_t{kTable->blocks[code / kBlock]} * kBlock + code % kBlock];
  const CategorySet set = 1u << (value & 31u);
  return (value & kSpaceBit) != 0 ? set | category::kWhiteSpace : set;
}

std::optional<CategorySet> CategoryNamed(absl::string_view name) {
  static constexpr std::pair<const char*, CategorySet> kNames[] = {
      {"L", category::kLetter},
      {"Lu", category::kUppercase},
      {"Ll", category::kLowercase},
      {"Lt", category::kTitlecase},
      {"M", category::kMark},
      {"Lm", category::kModifierLetter},
      {"Lo", category::kOtherLetter},
      {"Mn", category::kNonspacingMark},
      {"Mc", 1u << 7},
      {"Me", 1u << 8},
      {"N", category::kNumber},
      {"Nd", category::kDecimalNumber},
      {"Nl", category::kLetterNumber},
      {"No", 1u << 11},
      {"P", category::kPunctuation},
      {"Pc", category::kConnector},
      {"Pd", 1u << 13},
      {"Ps", 1u << 14},
      {"Pe", 1u << 15},
      {"Pi", 1u << 16},
      {"Pf", 1u << 17},
      {"Po", 1u << 18},
      {"S", category::kSymbol},
      {"Sm", 1u << 19},
      {"Sc", 1u << 20},
      {"Sk", 1u << 21},
      {"So", 1u << 22},
      {"Z", category::kSeparator},
      {"Zs", 1u << 23},
      {"Zl", 1u << 24},
      {"Zp", 1u << 25},
      {"C", category::kOther},
      {"Cc", category::kControl},
      {"Cf", category::kFormat},
      {"Co", category::kPrivateUse},
      {"Cn", 1u}};
  for (const auto& [known, set] : kNames) {
    if (name == known) return set;
  }
  return std::nullopt;
}

bool IsWordCharacter(uint32_t code) {
  if (IsIn(code, category::kWordCharacter | category::kLetterNumber)) return true;
  // Joiners, and circled and squared letters.
  return code == 0x200C || code == 0x200D || (code >= 0x24B6 && code <= 0x24E9) ||
         (code >= 0x1F130 && code <= 0x1F149) || (code >= 0x1F150 && code <= 0x1F169) ||
         (code >= 0x1F170 && code <= 0x1F189);
}

}  // namespace shoal::text
