// SPDX-License-Identifier: Apache-2.0
// BpeDefinition: what a model file says about a byte-level BPE tokenizer, whichever format it came
// from. The loaders fill it, BuildBpeTokenizer checks it and makes a Tokenizer.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "absl/status/statusor.h"
#include "text/tokenizer.h"

namespace shoal::text {

enum class TokenKind {
  kAbsent,   // no token has this id
  kNormal,   // made by merges; spelled in the byte-level alphabet
  kAdded,    // matched whole in the text before anything else; spelled as itself
  kControl,  // as kAdded, and special
  kUnused,   // never made from text; spelled as itself
};

struct TokenDefinition {
  std::string spelling;
  TokenKind kind = TokenKind::kAbsent;
  // Of added and control tokens: whitespace beside a match belongs to it; only whole words match;
  // matched in the second pass, after those that are not `normalized`.
  bool strip_left = false;
  bool strip_right = false;
  bool single_word = false;
  bool normalized = false;
};

enum class DigitSplit { kNone, kRuns, kIndividual };

// How text is cut into the pieces that merges never cross.
struct PreTokenizerDefinition {
  DigitSplit digits = DigitSplit::kNone;  // first: numbers (Unicode category N) apart
  bool gpt2_pattern = true;               // then: GPT-2's pattern inside each part
};

struct BpeDefinition {
  std::vector<TokenDefinition> tokens;                      // indexed by id
  std::vector<std::pair<std::string, std::string>> merges;  // best first
  PreTokenizerDefinition pre_tokenizer;
  std::optional<int32_t> bos;
  std::vector<int32_t> eos;
  std::optional<int32_t> unknown;  // for bytes without a token; without it they vanish
  bool add_bos = false;
  bool ignore_merges = false;  // a piece that is a token is that token, whatever the merges say
};

// INVALID_ARGUMENT naming the token or merge that cannot be.
absl::StatusOr<std::shared_ptr<const Tokenizer>> BuildBpeTokenizer(BpeDefinition definition);

}  // namespace shoal::text
