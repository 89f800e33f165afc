// SPDX-License-Identifier: Apache-2.0
// TokenizerDefinition: what a model's files say about its tokenizer, whichever format they are in.
// The loaders fill it, BuildTokenizer checks it and makes a Tokenizer.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "absl/status/statusor.h"
#include "text/regex/pattern.h"
#include "text/tokenizer.h"

namespace shoal::text {

enum class TokenKind {
  kAbsent,   // no token has this id
  kNormal,   // made by the model from text
  kAdded,    // matched whole in the text before anything else; spelled as itself
  kControl,  // as kAdded, and special
  kUnused,   // never made from text; spelled as itself
  kByte,     // stands for one byte of a character that has no token ("<0x0A>")
};

struct TokenDefinition {
  std::string spelling;
  TokenKind kind = TokenKind::kAbsent;
  // Of added and control tokens: whitespace beside a match belongs to it; only whole words match;
  // matched after normalization, in the second pass.
  bool strip_left = false;
  bool strip_right = false;
  bool single_word = false;
  bool normalized = false;
  bool in_model = false;  // of added tokens: the model knows it as well
  double score = 0;       // of Unigram and scored BPE models
};

enum class ModelKind {
  kByteLevelBpe,  // merges over bytes, spelled in the byte-level alphabet
  kCharacterBpe,  // merges over characters
  kScoredBpe,     // SentencePiece BPE: neighbours join into the token of the best score
  kUnigram,       // the path of tokens with the best sum of scores
  kWordPiece,     // the longest token first, word by word
};

// The model may make this token from ordinary text.
inline bool MadeFromText(const TokenDefinition& token) {
  return token.kind == TokenKind::kNormal || (token.kind == TokenKind::kAdded && token.in_model);
}

struct ModelDefinition {
  ModelKind kind = ModelKind::kByteLevelBpe;
  std::vector<std::pair<std::string, std::string>> merges;  // best first
  std::optional<int32_t> unknown;  // for what has no token; without it that vanishes
  bool ignore_merges = false;      // a piece that is a token is that token, whatever the merges say
  bool byte_fallback = false;      // a character without a token becomes its bytes' tokens
  bool fuse_unknown = false;       // neighbouring unknown characters are one unknown token
  bool single_precision = false;   // Unigram scores add up as float32
  std::string continuation = "##";  // WordPiece: before all but the first piece of a word
  size_t word_characters_max = 100;
};

// One step of normalization. Which fields count depends on the kind.
struct NormalizerStep {
  enum class Kind {
    kNfc,
    kNfd,
    kNfkc,
    kNfkd,
    kLowercase,
    kStripAccents,
    kNmt,
    kReplace,        // what `pattern` matches, by `content`
    kPrepend,        // `content` before a text that is not empty
    kStrip,          // white space, `left` and `right`
    kBert,           // `clean`, `chinese`, `accents` (stripped), `lowercase`
    kCharsmap,       // `charsmap`, grapheme by grapheme
    kSentencePiece,  // `charsmap` (may be empty), longest match, then spaces
  };
  Kind kind = Kind::kNfc;
  std::shared_ptr<const Pattern> pattern;
  std::string content;
  bool left = false;
  bool right = false;
  bool clean = false;
  bool chinese = false;
  bool accents = false;
  bool lowercase = false;
  std::string charsmap;
  // SentencePiece: a space in front of the whole text, or of every part between added tokens; runs
  // of spaces become one, none stays at the ends.
  bool prefix_first = false;
  bool prefix_always = false;
  bool collapse_spaces = false;
};

enum class SplitBehavior {
  kRemoved,
  kIsolated,
  kMergedWithPrevious,
  kMergedWithNext,
  kContiguous,
};

// One step that cuts text into the pieces that the model never joins.
struct PreTokenizerStep {
  enum class Kind {
    kSplit,        // at what `pattern` matches (`invert`: at what it does not match)
    kMetaspace,    // spaces become `replacement`, and one is put in front (`prefix`)
    kPrefixSpace,  // a space in front of a piece that does not begin with one
  };
  enum class Prefix { kNever, kFirst, kAlways };
  Kind kind = Kind::kSplit;
  std::shared_ptr<const Pattern> pattern;
  SplitBehavior behavior = SplitBehavior::kIsolated;
  bool invert = false;
  std::string replacement;
  Prefix prefix = Prefix::kAlways;
  bool split = true;  // Metaspace: a piece begins at every replacement
};

// How tokens become text.
struct DecoderDefinition {
  bool byte_level = false;  // spellings are in the byte-level alphabet
  std::vector<std::pair<std::string, std::string>> replace;  // in every spelling, in this order
  bool byte_fallback = false;                                // "<0x0A>" is a byte
  // What the first token of a whole text loses.
  enum class Start {
    kNothing,
    kAllSpaces,    // Metaspace: every `start_text` in the first token
    kLeadingText,  // up to `start_count` of `start_text`, which is one ASCII character
    kWordPiece,    // all but the first token begin with a space or lose `start_text`
  };
  Start start = Start::kNothing;
  std::string start_text;
  int start_count = 0;
  bool clean_up = false;  // WordPiece: no space before punctuation and English contractions
};

struct TokenizerDefinition {
  std::vector<TokenDefinition> tokens;  // indexed by id
  ModelDefinition model;
  std::vector<NormalizerStep> normalizer;
  std::vector<PreTokenizerStep> pre_tokenizer;
  DecoderDefinition decoder;
  std::optional<int32_t> bos;
  std::vector<int32_t> eos;
  bool add_bos = false;
};

// INVALID_ARGUMENT naming the token or merge that cannot be.
absl::StatusOr<std::shared_ptr<const Tokenizer>> BuildTokenizer(TokenizerDefinition definition);

}  // namespace shoal::text
