// SPDX-License-Identifier: Apache-2.0
// String operations that keep track of user text, shared by filters and methods.
#pragma once

#include <cstdint>
#include <vector>

#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "text/jinja/builtins.h"
#include "text/jinja/value.h"

namespace shoal::text::jinja {

// What Python's str methods treat as white space.
bool IsPythonSpace(uint32_t code);

// `characters` null: white space. Strings only.
Value Strip(Machine& machine, const Value& self, const Value* characters, bool left, bool right);

enum class Case { kUpper, kLower, kTitle, kCapitalize };
Value ChangeCase(Machine& machine, const Value& self, Case to);

// Every (or the first `count`, when not negative) occurrence of `from`.
absl::StatusOr<Value> Replace(Machine& machine, const Value& self, const Value& from,
                              const Value& to, int64_t count);

// str.split and rsplit; `separator` null: runs of white space. At most `count` cuts when not
// negative.
absl::StatusOr<Value> Split(Machine& machine, const Value& self, const Value* separator,
                            int64_t count, bool from_right);

// str.splitlines: a list of strings, with or without their line ends.
absl::StatusOr<Value> SplitLines(Machine& machine, const Value& self, bool keep_ends);

// The part [begin, end) of a string, in bytes.
Value Part(Machine& machine, const Value& self, size_t begin, size_t end);

absl::StatusOr<Value> Join(Machine& machine, const Value& separator,
                           const std::vector<Value>& items, bool strings_only);

}  // namespace shoal::text::jinja
