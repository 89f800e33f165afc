// SPDX-License-Identifier: Apache-2.0
// Byte tokens ("<0x0A>"), and what becomes of characters that have no token.
#pragma once

#include <array>
#include <cstdint>
#include <optional>
#include <vector>

#include "absl/strings/string_view.h"
#include "text/tokenizer_definition.h"

namespace shoal::text {

// The byte that "<0x0A>" stands for; nullopt for any other spelling.
std::optional<uint8_t> ByteOfToken(absl::string_view spelling);

// Immutable, safe from any thread.
class ByteFallback {
 public:
  explicit ByteFallback(const TokenizerDefinition& definition);

  // Appends the byte tokens of `character` and returns true, if there are such for all its bytes.
  bool Append(absl::string_view character, std::vector<int32_t>* out) const;

 private:
  bool enabled_ = false;
  std::array<int32_t, 256> tokens_{};  // -1: none
};

}  // namespace shoal::text
