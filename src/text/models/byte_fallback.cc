// SPDX-License-Identifier: Apache-2.0
#include "text/models/byte_fallback.h"

#include <algorithm>

namespace shoal::text {

std::optional<uint8_t> ByteOfToken(absl::string_view spelling) {
  if (spelling.size() != 6 || spelling.substr(0, 3) != "<0x" || spelling[5] != '>') {
    return std::nullopt;
  }
  int value = 0;
  for (const char c : spelling.substr(3, 2)) {
    const size_t digit = absl::string_view("0123456789ABCDEF").find(c);
    if (digit == absl::string_view::npos) return std::nullopt;
    value = value * 16 + static_cast<int>(digit);
  }
  return static_cast<uint8_t>(value);
}

ByteFallback::ByteFallback(const TokenizerDefinition& definition)
    : enabled_(definition.model.byte_fallback) {
  tokens_.fill(-1);
  for (size_t id = 0; id < definition.tokens.size(); ++id) {
    const TokenDefinition& token = definition.tokens[id];
    if (token.kind != TokenKind::kByte) continue;
    if (const auto byte = ByteOfToken(token.spelling)) tokens_[*byte] = static_cast<int32_t>(id);
  }
}

bool ByteFallback::Append(absl::string_view character, std::vector<int32_t>* out) const {
  const auto token = [this](char c) { return tokens_[static_cast<uint8_t>(c)]; };
  if (!enabled_) return false;
  if (std::any_of(character.begin(), character.end(), [&](char c) { return token(c) < 0; })) {
    return false;
  }
  for (const char c : character) out->push_back(token(c));
  return true;
}

}  // namespace shoal::text
