// SPDX-License-Identifier: Apache-2.0
// The "loop" variable of a for loop: a namespace with a fixed order of members. Errors
// carry no line.
#pragma once

#include <cstdint>
#include <vector>

#include "absl/status/statusor.h"
#include "text/jinja/builtins.h"
#include "text/jinja/value.h"

namespace shoal::text::jinja {

// Sets what differs from round to round: round `index` over `items`.
void UpdateLoop(const Value& loop, const std::vector<Value>& items, size_t index);

// How deep a recursive loop is, from 1.
int64_t LoopDepth(const Value& loop);

// loop.cycle(a, b, ...): the argument whose turn it is.
absl::StatusOr<Value> LoopCycle(const Value& loop, const Arguments& arguments);

// loop.changed(value): whether it differs from the last call's.
absl::StatusOr<Value> LoopChanged(Machine& machine, const Value& loop, const Arguments& arguments);

}  // namespace shoal::text::jinja
