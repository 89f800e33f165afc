// SPDX-License-Identifier: Apache-2.0
// Filters over sequences (map, select, sort, ...), part of the table in filters.cc. Errors carry no
// line.
#pragma once

#include "absl/status/statusor.h"
#include "text/jinja/builtins.h"
#include "text/jinja/value.h"

namespace shoal::text::jinja {

absl::StatusOr<Value> MapFilter(Machine& machine, const Value& self, const Arguments& arguments);
absl::StatusOr<Value> SelectFilter(Machine& machine, const Value& self, const Arguments& arguments);
absl::StatusOr<Value> RejectFilter(Machine& machine, const Value& self, const Arguments& arguments);
absl::StatusOr<Value> SelectAttributeFilter(Machine& machine, const Value& self,
                                            const Arguments& arguments);
absl::StatusOr<Value> RejectAttributeFilter(Machine& machine, const Value& self,
                                            const Arguments& arguments);
absl::StatusOr<Value> JoinFilter(Machine& machine, const Value& self, const Arguments& arguments);
absl::StatusOr<Value> SortFilter(Machine& machine, const Value& self, const Arguments& arguments);
absl::StatusOr<Value> DictSortFilter(Machine& machine, const Value& self,
                                     const Arguments& arguments);
absl::StatusOr<Value> UniqueFilter(Machine& machine, const Value& self, const Arguments& arguments);
absl::StatusOr<Value> ReverseFilter(Machine& machine, const Value& self,
                                    const Arguments& arguments);
absl::StatusOr<Value> SumFilter(Machine& machine, const Value& self, const Arguments& arguments);
absl::StatusOr<Value> MinFilter(Machine& machine, const Value& self, const Arguments& arguments);
absl::StatusOr<Value> MaxFilter(Machine& machine, const Value& self, const Arguments& arguments);
absl::StatusOr<Value> FirstFilter(Machine& machine, const Value& self, const Arguments& arguments);
absl::StatusOr<Value> LastFilter(Machine& machine, const Value& self, const Arguments& arguments);
absl::StatusOr<Value> ListFilter(Machine& machine, const Value& self, const Arguments& arguments);
absl::StatusOr<Value> ItemsFilter(Machine& machine, const Value& self, const Arguments& arguments);

}  // namespace shoal::text::jinja
