// SPDX-License-Identifier: Apache-2.0
// The index of a sharded safetensors model (model.safetensors.index.json).
#pragma once

#include <map>
#include <string>

#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"

namespace shoal::safetensors {

// Tensor name to shard file name. INVALID_ARGUMENT on malformed JSON, duplicate names, no
// weight_map, or a shard that is not a plain file name beside the index.
absl::StatusOr<std::map<std::string, std::string>> ParseIndex(absl::string_view json);

}  // namespace shoal::safetensors
