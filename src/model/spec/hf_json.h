// SPDX-License-Identifier: Apache-2.0
// Reading config.json: values by key, with errors that name the key, the value and the rule. In
// this format an absent key and a null both mean the default.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "nlohmann/json.hpp"

namespace shoal::model {

using Json = nlohmann::json;

inline constexpr int64_t kHfSizeMax = int64_t{1} << 28;

// INVALID_ARGUMENT "key = value: rule".
absl::Status Bad(absl::string_view key, const Json& value, absl::string_view rule);

// nullptr when absent or null.
const Json* Find(const Json& object, const char* key);

// A required integer in [1, max]; or one that may be absent.
absl::StatusOr<int64_t> Size(const Json& object, const char* key, int64_t max = kHfSizeMax);
absl::StatusOr<int64_t> SizeOr(const Json& object, const char* key, int64_t fallback);
absl::StatusOr<double> NumberOr(const Json& object, const char* key, double fallback);
absl::StatusOr<bool> BoolOr(const Json& object, const char* key, bool fallback);
// Numbers; empty when absent.
absl::StatusOr<std::vector<float>> Numbers(const Json& object, const char* key);

// An object, or an error that calls the text `name`.
absl::StatusOr<Json> ParseObject(absl::string_view text, absl::string_view name);

}  // namespace shoal::model
