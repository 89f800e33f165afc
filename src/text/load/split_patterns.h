// SPDX-License-Identifier: Apache-2.0
// How published model families cut text before BPE.
#pragma once

#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "text/tokenizer_definition.h"

namespace shoal::text {

inline constexpr char kGpt2Pattern[] =
    R"('s|'t|'re|'ve|'m|'ll|'d| ?\p{L}+| ?\p{N}+| ?[^\s\p{L}\p{N}]+|\s+(?!\S)|\s+)";

// A step that cuts at what `expression` matches; the matches are pieces (or as `behavior` says).
absl::StatusOr<PreTokenizerStep> SplitStep(absl::string_view expression,
                                           SplitBehavior behavior = SplitBehavior::kIsolated,
                                           bool invert = false);

// What GGUF's tokenizer.ggml.pre stands for: the steps, and with them normalization and
// ignore_merges as the family's own tokenizer has them. INVALID_ARGUMENT naming one that is not
// known.
absl::Status ApplyGgufPre(absl::string_view name, TokenizerDefinition* definition);

}  // namespace shoal::text
