// SPDX-License-Identifier: Apache-2.0
// Filters over strings beside the common ones, part of the table in filters.cc. Errors carry no
// line.
#pragma once

#include "absl/status/statusor.h"
#include "text/jinja/builtins.h"
#include "text/jinja/value.h"

namespace shoal::text::jinja {

absl::StatusOr<Value> FormatFilter(Machine& machine, const Value& self, const Arguments& arguments);
absl::StatusOr<Value> CenterFilter(Machine& machine, const Value& self, const Arguments& arguments);
absl::StatusOr<Value> WordCountFilter(Machine& machine, const Value& self,
                                      const Arguments& arguments);
absl::StatusOr<Value> TruncateFilter(Machine& machine, const Value& self,
                                     const Arguments& arguments);
absl::StatusOr<Value> UrlEncodeFilter(Machine& machine, const Value& self,
                                      const Arguments& arguments);

}  // namespace shoal::text::jinja
