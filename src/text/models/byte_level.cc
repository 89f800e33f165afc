// SPDX-License-Identifier: Apache-2.0
#include "text/models/byte_level.h"

#include <array>

#include "text/utf8.h"

namespace shoal::text {
namespace {

constexpr uint32_t kFirstShifted = 256;  // code points from here on stand for unprintable bytes
constexpr uint32_t kCodesMax = kFirstShifted + 256;

constexpr bool IsPrintable(uint32_t byte) {
  return (byte >= 0x21 && byte <= 0x7E) || (byte >= 0xA1 && byte <= 0xAC) || byte >= 0xAE;
}

struct Alphabet {
  std::array<uint32_t, 256> code_of_byte{};
  std::array<int16_t, kCodesMax> byte_of_code{};
};

constexpr Alphabet MakeAlphabet() {
  Alphabet alphabet;
  for (auto& byte : alphabet.byte_of_code) byte = -1;
  uint32_t shifted = kFirstShifted;
  for (uint32_t byte = 0; byte < 256; ++byte) {
    const uint32_t code = IsPrintable(byte) ? byte : shifted++;
    alphabet.code_of_byte[byte] = code;
    alphabet.byte_of_code[code] = static_cast<int16_t>(byte);
  }
  return alphabet;
}

constexpr Alphabet kAlphabet = MakeAlphabet();

}  // namespace

std::string ByteLevelSymbol(uint8_t byte) {
  std::string symbol;
  AppendUtf8(kAlphabet.code_of_byte[byte], &symbol);
  return symbol;
}

std::optional<std::string> DecodeByteLevel(absl::string_view spelling) {
  std::string bytes;
  bytes.reserve(spelling.size());
  for (size_t position = 0; position < spelling.size();) {
    const Utf8Step step = StepUtf8(spelling, position);
    if (step.kind != Utf8Kind::kCharacter || step.code >= kCodesMax) return std::nullopt;
    if (kAlphabet.byte_of_code[step.code] < 0) return std::nullopt;
    bytes.push_back(static_cast<char>(kAlphabet.byte_of_code[step.code]));
    position += step.length;
  }
  return bytes;
}

}  // namespace shoal::text
