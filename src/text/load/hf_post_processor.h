// SPDX-License-Identifier: Apache-2.0
// Reads the post_processor of a tokenizer.json: which tokens it puts around a text.
#pragma once

#include <cstdint>
#include <optional>

#include "absl/status/statusor.h"
#include "nlohmann/json.hpp"

namespace shoal::text {

struct AddedByPostProcessor {
  std::optional<int64_t> first;  // to be the BOS
  std::optional<int64_t> last;   // to be the EOS
};

// INVALID_ARGUMENT for kinds other than ByteLevel, TemplateProcessing, BertProcessing,
// RobertaProcessing and sequences of these, and for templates that add more than one token before
// or after the text.
absl::StatusOr<AddedByPostProcessor> ReadPostProcessor(const nlohmann::json& processor);

}  // namespace shoal::text
