// SPDX-License-Identifier: Apache-2.0
// Decoder: what every token adds to a text.
#pragma once

#include <string>
#include <vector>

#include "absl/strings/string_view.h"
#include "text/tokenizer.h"
#include "text/tokenizer_definition.h"

namespace shoal::text {

// Immutable after construction, safe from any thread. Byte tokens are bytes like any others: what
// is no UTF-8 in their sequence is replaced by the reader of the bytes.
class Decoder {
 public:
  Decoder(const DecoderDefinition& definition, const std::vector<TokenDefinition>& tokens);

  size_t size() const { return bytes_.size(); }
  // The bytes of a token inside a text. `token` must be below size().
  absl::string_view Bytes(int32_t token) const { return bytes_[token]; }
  void Append(int32_t token, DecodeState* state, std::string* out) const;

 private:
  std::string BytesOf(const TokenDefinition& token) const;

  DecoderDefinition definition_;
  std::vector<std::string> bytes_;
  std::vector<std::string> first_bytes_;  // only where the start is a matter of the first token
};

}  // namespace shoal::text
