// SPDX-License-Identifier: Apache-2.0
// What templates can call: filters, tests, global functions and the methods of strings, lists and
// dicts. Errors here carry no line (FAILED_PRECONDITION); the interpreter adds it.
#pragma once

#include <cstdint>
#include <string>
#include <utility>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "absl/time/time.h"
#include "text/jinja/value.h"

namespace shoal::text::jinja {

// One rendering's resources. Not thread-safe.
struct Machine {
  static constexpr int64_t kWorkMax = 8'000'000;

  Arena arena;
  absl::Time now;
  int64_t work = 0;

  // Counts `units` of work (about one element or one node each); RESOURCE_EXHAUSTED when the
  // rendering has done too much or holds too much.
  absl::Status Work(int64_t units = 1);
};

struct Arguments {
  std::vector<Value> positional;
  std::vector<std::pair<std::string, Value>> named;
  bool user_names = false;  // some of the names come from users

  // The argument at `index` or called `name`; null when not given.
  const Value* Get(size_t index, absl::string_view name) const;
};

// An error without a line yet.
absl::Status Fail(absl::string_view what);
// For the use of an undefined value where a value is needed.
absl::Status FailUndefined(const Value& value);

struct Filter {
  using Function = absl::StatusOr<Value> (*)(Machine& machine, const Value& self,
                                             const Arguments& arguments);
  const char* name;
  int arguments_max;  // -1: any
  const char* names;  // accepted keywords, each between commas: ",default_value,boolean,"
  Function function;
};
const Filter* FindFilter(absl::string_view name);
absl::StatusOr<Value> ApplyFilter(Machine& machine, const Filter& filter, const Value& self,
                                  const Arguments& arguments);

struct Test {
  using Function = absl::StatusOr<bool> (*)(Machine& machine, const Value& self,
                                            const Arguments& arguments);
  const char* name;
  int arguments;  // how many it takes
  Function function;
};
const Test* FindTest(absl::string_view name);
absl::StatusOr<bool> ApplyTest(Machine& machine, const Test& test, const Value& self,
                               const Arguments& arguments);

bool IsGlobalFunction(absl::string_view name);
absl::StatusOr<Value> CallGlobalFunction(Machine& machine, absl::string_view name,
                                         const Arguments& arguments);

// A method that would change its value in place, which no template may do.
bool ChangesValue(const Value& self, absl::string_view name);
bool HasMethod(const Value& self, absl::string_view name);
absl::StatusOr<Value> CallMethod(Machine& machine, const Value& self, absl::string_view name,
                                 const Arguments& arguments);

}  // namespace shoal::text::jinja
