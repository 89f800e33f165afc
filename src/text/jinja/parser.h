// SPDX-License-Identifier: Apache-2.0
// Parses a template into its tree.
#pragma once

#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "text/jinja/ast.h"

namespace shoal::text::jinja {

// INVALID_ARGUMENT with the line of what is malformed or not supported.
absl::StatusOr<Body> ParseTemplate(absl::string_view source);

}  // namespace shoal::text::jinja
