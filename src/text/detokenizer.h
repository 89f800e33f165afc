// SPDX-License-Identifier: Apache-2.0
// IncrementalDetokenizer: tokens in, text out, never splitting a UTF-8 character.
#pragma once

#include <cstdint>
#include <memory>
#include <string>

#include "text/tokenizer.h"

namespace shoal::text {

// The concatenation of all returned pieces equals Tokenizer::Decode of all tokens, or, when the
// text goes on another one, what they add to it. One stream's state; not thread-safe.
class IncrementalDetokenizer {
 public:
  enum class Start {
    kText,          // the tokens are a whole text
    kContinuation,  // they go on a text, so that a space in front of the first one stays
  };
  // skip_special: control tokens give no text.
  IncrementalDetokenizer(std::shared_ptr<const Tokenizer> tokenizer, bool skip_special,
                         Start start = Start::kText);
  // Text that became final with this token (possibly empty). Incomplete characters are held back
  // (at most 3 bytes); bytes that can never become a character turn into U+FFFD.
  std::string Push(int32_t token);
  // What is held back, at the end of the stream.
  std::string Finish();

 private:
  std::shared_ptr<const Tokenizer> tokenizer_;
  bool skip_special_;
  DecodeState state_;
  std::string pending_;
};

}  // namespace shoal::text
