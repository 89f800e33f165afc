// SPDX-License-Identifier: Apache-2.0
// SentencePiece vocabularies: the pipeline around them, and the .model file they come in.
#pragma once

#include <optional>
#include <string>

#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "text/tokenizer_definition.h"

namespace shoal::text {

struct SentencePieceOptions {
  bool unigram = false;  // else BPE
  bool prefix_first = false;
  bool prefix_always = false;
  bool collapse_spaces = false;
  std::string charsmap;
  std::optional<int32_t> unknown;
};

// Sets model, normalizer and decoder of a definition whose tokens are there.
void ApplySentencePieceOptions(const SentencePieceOptions& options,
                               TokenizerDefinition* definition);

// Reads a serialized ModelProto. Control and unknown pieces become control tokens, user-defined
// ones added tokens. BOS is added where the model has one. INVALID_ARGUMENT for what is cut off or
// malformed, and for models of words or characters.
absl::StatusOr<TokenizerDefinition> ParseSentencePieceModel(absl::string_view bytes);

}  // namespace shoal::text
