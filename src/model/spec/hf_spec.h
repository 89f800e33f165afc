// SPDX-License-Identifier: Apache-2.0
// Reads a ModelSpec from a Hugging Face config.json, in the spellings of transformers 4 and 5.
#pragma once

#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "model/spec/model_spec.h"

namespace shoal::model {

// `config` and `generation_config` are the files' texts; the latter may be empty, and where it
// names end tokens it is authoritative. INVALID_ARGUMENT names the key at fault; for an
// architecture that is not built it lists those that are. Keys that change the answer and are not
// supported are refused.
absl::StatusOr<ModelSpec> SpecFromHfConfig(absl::string_view config,
                                           absl::string_view generation_config);

}  // namespace shoal::model
