// SPDX-License-Identifier: Apache-2.0
// Reads the text side of a GGUF file's metadata.
#pragma once

#include "absl/status/statusor.h"
#include "base/gguf/gguf_file.h"
#include "text/tokenizer.h"

namespace shoal::text {

// tokenizer.ggml.model "gpt2" with the pre-tokenizers "gpt-2" (also "default" or none named) and
// "smollm". Errors name the key.
absl::StatusOr<TextModel> LoadGgufText(const gguf::GgufFile& file);

}  // namespace shoal::text
