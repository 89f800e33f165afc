// SPDX-License-Identifier: Apache-2.0
// Reads a Hugging Face tokenizer.json into a BpeDefinition.
#pragma once

#include "absl/status/statusor.h"
#include "nlohmann/json.hpp"
#include "text/bpe/bpe_definition.h"

namespace shoal::text {

// INVALID_ARGUMENT naming the part that is malformed, or that this build does not have: another
// model than byte-level BPE, any normalizer, other pre-tokenizers than ByteLevel and Digits before
// it, post-processors that add more than a BOS. An EOS added at the end is left out on purpose.
absl::StatusOr<BpeDefinition> ParseTokenizerJson(const nlohmann::json& document);

}  // namespace shoal::text
