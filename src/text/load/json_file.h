// SPDX-License-Identifier: Apache-2.0
// Reading the JSON files of a model directory.
#pragma once

#include <optional>
#include <string>

#include "absl/status/statusor.h"
#include "nlohmann/json.hpp"

namespace shoal::text {

// The file's bytes; nullopt when there is no such file. Errors name the path.
absl::StatusOr<std::optional<std::string>> ReadFileIfPresent(const std::string& path);

// The parsed object; nullopt when there is no such file. INVALID_ARGUMENT for what is not JSON, not
// an object, or nested too deeply.
absl::StatusOr<std::optional<nlohmann::json>> ReadJsonIfPresent(const std::string& path);

// The member of an object; a null value when it is missing or `object` is no object. The reference
// lives as long as `object` (or for ever).
const nlohmann::json& Member(const nlohmann::json& object, const std::string& key);

}  // namespace shoal::text
