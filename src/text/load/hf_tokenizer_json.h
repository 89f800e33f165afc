// SPDX-License-Identifier: Apache-2.0
// Reads a Hugging Face tokenizer.json into a TokenizerDefinition.
#pragma once

#include "absl/status/statusor.h"
#include "nlohmann/json.hpp"
#include "text/tokenizer_definition.h"

namespace shoal::text {

// INVALID_ARGUMENT naming the place of what is malformed, or of what this build does not have. An
// EOS that the post_processor adds at the end is left out on purpose.
absl::StatusOr<TokenizerDefinition> ParseTokenizerJson(const nlohmann::json& document);

}  // namespace shoal::text
