// SPDX-License-Identifier: Apache-2.0
// Strict JSON for request bodies: no duplicate keys (two readers could disagree about the value),
// bounded depth and size, UTF-8 only. Never throws.
#pragma once

#include <string>

#include "absl/status/statusor.h"
#include "nlohmann/json.hpp"

namespace shoal::router {

inline constexpr int kJsonDepthMax = 64;
inline constexpr int64_t kJsonValuesMax = 2'000'000;
inline constexpr size_t kJsonKeysMax =
    1000;  // of one object: keeping their order costs a scan each

// INVALID_ARGUMENT with what is wrong and, for syntax, the byte where. Objects keep
// their order, because templates show tools as the client wrote them.
absl::StatusOr<nlohmann::ordered_json> ParseJson(const std::string& text);

// As one line; ill-formed UTF-8 is replaced instead of throwing.
std::string DumpJson(const nlohmann::json& value);

}  // namespace shoal::router
