// SPDX-License-Identifier: Apache-2.0
// Reads the text side of a Hugging Face model directory.
#pragma once

#include <string>

#include "absl/status/statusor.h"
#include "text/tokenizer.h"

namespace shoal::text {

// tokenizer.json, with tokenizer_config.json, special_tokens_map.json, generation_config.json and
// chat_template.jinja where present. Errors name the file.
absl::StatusOr<TextModel> LoadHuggingFaceDirectory(const std::string& path);

}  // namespace shoal::text
