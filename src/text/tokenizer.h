// SPDX-License-Identifier: Apache-2.0
// Tokenizer: text to token ids and back. Immutable after loading, safe from any thread.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"

namespace shoal::text {

struct EncodeOptions {
  bool add_special_tokens = true;    // BOS as the model's configuration says; never an EOS
  bool parse_special_tokens = true;  // text that spells a control token becomes that token
};

class Tokenizer {
 public:
  virtual ~Tokenizer() = default;
  // INVALID_ARGUMENT for text that is not UTF-8 or beyond the size limit.
  virtual absl::StatusOr<std::vector<int32_t>> Encode(absl::string_view text,
                                                      const EncodeOptions& options) const = 0;
  // The bytes a token stands for, as far as they do not depend on its neighbours. Control tokens
  // give their spelling.
  virtual absl::string_view TokenBytes(int32_t token) const = 0;
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
struct TextModel {
  std::shared_ptr<const Tokenizer> tokenizer;
  std::string chat_template;  // empty: none
};

// From a GGUF file (metadata only) or a Hugging Face directory.
absl::StatusOr<TextModel> LoadTextModel(const std::string& path);

}  // namespace shoal::text
