// SPDX-License-Identifier: Apache-2.0
// Brings chat messages into the form that templates are written for.
#pragma once

#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "nlohmann/json_fwd.hpp"

namespace shoal::text {

// A copy in which members that are null are absent, content that is missing is "", reasoning goes
// by the names templates read ("reasoning_content" and "thinking"), tool calls' arguments are
// objects, and
// (`join_parts`) lists of text parts are one string, joined by newlines. INVALID_ARGUMENT naming
// the message that is malformed or has a part that is not text.
absl::StatusOr<nlohmann::ordered_json> NormalizeMessages(const nlohmann::ordered_json& messages,
                                                         bool join_parts);

// Roles whose names templates build control tokens around.
bool IsKnownRole(absl::string_view role);

}  // namespace shoal::text
