// SPDX-License-Identifier: Apache-2.0
#include "text/detokenizer.h"

#include <utility>

#include "text/utf8.h"

namespace shoal::text {

IncrementalDetokenizer::IncrementalDetokenizer(std::shared_ptr<const Tokenizer> tokenizer,
                                               bool skip_special, Start start)
    : tokenizer_(std::move(tokenizer)), skip_special_(skip_special) {
  state_.at_start = start == Start::kText;
}

std::string IncrementalDetokenizer::Push(int32_t token) {
  if (skip_special_ && tokenizer_->IsSpecial(token)) return "";
  tokenizer_->AppendTokenBytes(token, &state_, &pending_);
  // Only the last three bytes can belong to a character that is not yet whole.
  size_t end = pending_.size();
  const size_t earliest = end > 3 ? end - 3 : 0;
  for (size_t start = end; start-- > earliest;) {
    const uint8_t byte = static_cast<uint8_t>(pending_[start]);
    if ((byte & 0xC0) == 0x80) continue;
    if (StepUtf8(pending_, start).kind == Utf8Kind::kIncomplete) end = start;
    break;
  }
  std::string text;
  AppendReplacingIllFormed(absl::string_view(pending_).substr(0, end), &text);
  pending_.erase(0, end);
  return text;
}

std::string IncrementalDetokenizer::Finish() {
  std::string text;
  AppendReplacingIllFormed(pending_, &text);
  pending_.clear();
  return text;
}

}  // namespace shoal::text
