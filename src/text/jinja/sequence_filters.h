// SPDX-License-Identifier: Apache-2.0
// Filters over sequences (map, select, sort, ...), part of the table in filters.cc. Errors carry no
// line.
#pragma once

#include <vector>

#include "absl/status/statusor.h"
#include "text/jinja/builtins.h"
#include "text/jinja/value.h"

namespace shoal::text::jinja {

// "a.b.0": attributes and indices, one after another.
absl::StatusOr<Value> DottedAttribute(Machine& machine, const Value& object, const Value& path);
// What items are ordered by: an attribute (or null), and strings without regard to case unless
// asked.
absl::StatusOr<std::vector<Value>> SortKeys(Machine& machine, const std::vector<Value>& items,
                                            const Value* attribute, const Value* case_sensitive);
// The stable order of keys from SortKeys.
absl::StatusOr<std::vector<size_t>> SortedOrder(Machine& machine, const std::vector<Value>& keys,
                                                bool reverse);

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
absl::StatusOr<Value> BatchFilter(Machine& machine, const Value& self, const Arguments& arguments);
absl::StatusOr<Value> SliceFilter(Machine& machine, const Value& self, const Arguments& arguments);
absl::StatusOr<Value> GroupByFilter(Machine& machine, const Value& self,
                                    const Arguments& arguments);

}  // namespace shoal::text::jinja
