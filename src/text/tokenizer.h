// SPDX-License-Identifier: Apache-2.0
// Tokenizer: text to token ids and back. Immutable after loading, safe from any thread.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"

namespace shoal::text {

// Bytes [begin, end) of a text.
struct ByteRange {
  size_t begin = 0;
  size_t end = 0;
};

struct EncodeOptions {
  // BOS as the model's configuration says, unless the text already begins with it; never an EOS.
  bool add_special_tokens = true;
  bool parse_special_tokens = true;  // text that spells a control token becomes that token
  // Where it never does, not even when only a part of the spelling lies inside: text that users
  // wrote. Sorted, disjoint. The text is otherwise tokenized as one, across these borders.
  std::vector<ByteRange> plain_ranges;
};

// How far the text of a decode has come: some tokenizers drop a space where a text begins.
struct DecodeState {
  bool at_start = true;  // nothing that keeps its place has been decoded yet
  int32_t dropped = 0;   // characters dropped at the start
};

class Tokenizer {
 public:
  virtual ~Tokenizer() = default;
  // INVALID_ARGUMENT for text that is not UTF-8 or beyond the size limit.
  virtual absl::StatusOr<std::vector<int32_t>> Encode(absl::string_view text,
                                                      const EncodeOptions& options) const = 0;
  // The bytes a token stands for inside a text. Control tokens give their spelling.
  virtual absl::string_view TokenBytes(int32_t token) const = 0;
  // Appends the bytes of `token` after those of the tokens that `state` has seen. A text that goes
  // on another one is decoded with at_start = false from its first token.
  virtual void AppendTokenBytes(int32_t token, DecodeState* state, std::string* out) const {
    const absl::string_view bytes = TokenBytes(token);
    out->append(bytes.data(), bytes.size());
    state->at_start = false;
  }
  // A control token (<|im_end|>): skipped in text unless asked for.
  virtual bool IsSpecial(int32_t token) const = 0;
  // Whole decode; ill-formed UTF-8 becomes U+FFFD.
  virtual std::string Decode(const std::vector<int32_t>& tokens, bool skip_special) const = 0;
  virtual int32_t vocab_size() const = 0;
  virtual std::optional<int32_t> TokenId(absl::string_view spelling) const = 0;
  virtual std::optional<int32_t> bos() const = 0;
  virtual std::vector<int32_t> eos() const = 0;
};

// What the text side needs of a model: its tokenizer and its chat template.
// A chat template for some kind of request.
struct NamedTemplate {
  std::string name;  // "tool_use", "rag", ...
  std::string source;
};

struct TextModel {
  std::shared_ptr<const Tokenizer> tokenizer;
  std::string chat_template;                   // empty: none
  std::vector<NamedTemplate> named_templates;  // beside that one, by name
  // The spellings a chat template may use, as the model's files name them; empty: none. The tokens
  // that end generation are tokenizer->eos(), which may be others.
  std::string bos_token;
  std::string eos_token;
};

// From a GGUF file (metadata only), a Hugging Face directory (tokenizer.json, else a SentencePiece
// model, else a WordPiece vocab.txt) or a SentencePiece model file (*.model). Whatever the files
// ask for that is not built is an INVALID_ARGUMENT naming it; only truncation, padding, an appended
// EOS and clean_up_tokenization_spaces are left out on purpose, as no prompt or stream wants them.
absl::StatusOr<TextModel> LoadTextModel(const std::string& path);

}  // namespace shoal::text
