// SPDX-License-Identifier: Apache-2.0
// Operators, comparison, lookup and iteration with Python's meaning. Errors carry no line.
#pragma once

#include <optional>
#include <vector>

#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "text/jinja/builtins.h"
#include "text/jinja/value.h"

namespace shoal::text::jinja {

// + - * / // % ** and ~ (strings joined).
absl::StatusOr<Value> Arithmetic(Machine& machine, absl::string_view op, const Value& a,
                                 const Value& b);
absl::StatusOr<Value> Negate(const Value& value);
// == != < <= > >= in, not in.
absl::StatusOr<bool> Compare(Machine& machine, absl::string_view op, const Value& a,
                             const Value& b);
// -1, 0, 1; for values with an order.
absl::StatusOr<int> Order(const Value& a, const Value& b);

// object.name and object[key]; Undefined when there is none.
absl::StatusOr<Value> GetAttribute(Machine& machine, const Value& object, absl::string_view name);
absl::StatusOr<Value> GetItem(Machine& machine, const Value& object, const Value& key);
// object[start:stop:step]; an absent bound is None.
absl::StatusOr<Value> Slice(Machine& machine, const Value& object, const Value& start,
                            const Value& stop, const Value& step);

// The elements a loop sees: of lists, of strings (characters), keys of dicts; none of Undefined.
absl::StatusOr<std::vector<Value>> Iterate(Machine& machine, const Value& value);

// The text of a value as {{ }} prints it, without copying when it is a string.
Value ToString(Machine& machine, const Value& value);

}  // namespace shoal::text::jinja
