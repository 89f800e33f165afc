// SPDX-License-Identifier: Apache-2.0
// The escapes of string literals in templates (those of Python).
#pragma once

#include <string>

#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"

namespace shoal::text::jinja {

// `raw` is what stands between the quotes. An escape without a meaning stays as it is.
absl::StatusOr<std::string> UnescapeStringLiteral(absl::string_view raw);

}  // namespace shoal::text::jinja
