// SPDX-License-Identifier: Apache-2.0
// Python's two ways to format strings. User text stays marked; widths are bounded. Errors carry no
// line.
#pragma once

#include "absl/status/statusor.h"
#include "text/jinja/builtins.h"
#include "text/jinja/value.h"

namespace shoal::text::jinja {

// format % values: a tuple gives several values, a dict named ones, anything else is one.
absl::StatusOr<Value> PercentFormat(Machine& machine, const Value& format, const Value& values);

// format.format(...).
absl::StatusOr<Value> BraceFormat(Machine& machine, const Value& format,
                                  const Arguments& arguments);

}  // namespace shoal::text::jinja
