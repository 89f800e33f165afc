// SPDX-License-Identifier: Apache-2.0
#include "text/jinja/builtins.h"

#include <algorithm>

#include "absl/strings/match.h"
#include "base/status.h"
#include "text/jinja/operators.h"

namespace shoal::text::jinja {
namespace {

constexpr int64_t kRangeMax = 1'000'000;

absl::StatusOr<Value> Range(Machine& machine, const Arguments& arguments) {
  const auto& given = arguments.positional;
  if (given.empty() || given.size() > 3) return Fail("range takes 1 to 3 arguments");
  for (const Value& value : given) {
    if (value.is(Kind::kUndefined)) return FailUndefined(value);
    if (!value.is(Kind::kInt)) return Fail("range takes integers");
  }
  const int64_t start = given.size() > 1 ? given[0].integer : 0;
  const int64_t stop = given.size() > 1 ? given[1].integer : given[0].integer;
  const int64_t step = given.size() > 2 ? given[2].integer : 1;
  if (step == 0) return Fail("range's step must not be zero");
  const bool user = std::any_of(given.begin(), given.end(), [](const Value& v) { return v.user; });
  std::vector<Value> items;
  for (int64_t i = start; step > 0 ? i < stop : i > stop;) {
    if (items.size() >= kRangeMax) return Fail(absl::StrCat("range is longer than ", kRangeMax));
    items.push_back(Value::Int(i, user));
    if (__builtin_add_overflow(i, step, &i)) break;
  }
  SHOAL_RETURN_IF_ERROR(machine.Work(static_cast<int64_t>(items.size())));
  return machine.arena.NewList(std::move(items));
}

absl::Status Refuse(const Arguments& arguments) {
  if (arguments.positional.size() != 1 || !arguments.named.empty()) {
    return Fail("raise_exception takes one argument");
  }
  TextBuilder message;
  AppendStr(arguments.positional[0], &message);
  return Fail(message.Take().bytes);
}

absl::StatusOr<Value> Now(Machine& machine, const Arguments& arguments) {
  if (arguments.positional.size() != 1 || !arguments.positional[0].is(Kind::kString)) {
    return Fail("strftime_now takes one format string");
  }
  const Value& format = arguments.positional[0];
  if (format.str().size() > 1000) return Fail("strftime_now's format is too long");
  return machine.arena.NewString(absl::FormatTime(format.str(), machine.now, absl::UTCTimeZone()),
                                 HasUser(format));
}

absl::StatusOr<Value> Mapping(Machine& machine, const Arguments& arguments, const Value& into) {
  if (arguments.positional.size() > 1) return Fail("takes at most one positional argument");
  if (!arguments.positional.empty()) {
    const Value& source = arguments.positional[0];
    if (!source.is(Kind::kDict)) return Fail("the positional argument must be a dict");
    for (const auto& [key, value] : source.dict->entries) into.dict->Set(key, value);
  }
  for (const auto& [name, value] : arguments.named) {
    machine.arena.Charge(4 * sizeof(Value));
    into.dict->Set(machine.arena.NewString(name, arguments.user_names), value);
  }
  return into;
}

}  // namespace

absl::Status Machine::Work(int64_t units) {
  work += units;
  if (work > kWorkMax) {
    return absl::ResourceExhaustedError("the chat template does too much work for these messages");
  }
  if (arena.exhausted()) {
    return absl::ResourceExhaustedError(
        "the chat template needs too much memory for these messages");
  }
  return absl::OkStatus();
}

const Value* Arguments::Get(size_t index, absl::string_view name) const {
  if (index < positional.size()) return &positional[index];
  for (const auto& [key, value] : named) {
    if (key == name) return &value;
  }
  return nullptr;
}

absl::Status Fail(absl::string_view what) { return absl::FailedPreconditionError(what); }

absl::Status FailUndefined(const Value& value) {
  return Fail(value.text == nullptr ? absl::string_view("a value is undefined")
                                    : absl::string_view(value.text->bytes));
}

absl::StatusOr<Value> ApplyFilter(Machine& machine, const Filter& filter, const Value& self,
                                  const Arguments& arguments) {
  if (filter.arguments_max >= 0) {
    if (arguments.positional.size() > static_cast<size_t>(filter.arguments_max)) {
      return Fail(absl::StrCat("the filter '", filter.name, "' takes at most ",
                               filter.arguments_max, " arguments"));
    }
    for (const auto& [name, value] : arguments.named) {
      if (!absl::StrContains(filter.names, absl::StrCat(",", name, ","))) {
        return Fail(absl::StrCat("the filter '", filter.name, "' has no argument '", name, "'"));
      }
    }
  }
  return filter.function(machine, self, arguments);
}

absl::StatusOr<bool> ApplyTest(Machine& machine, const Test& test, const Value& self,
                               const Arguments& arguments) {
  if (arguments.positional.size() != static_cast<size_t>(test.arguments) ||
      !arguments.named.empty()) {
    return Fail(absl::StrCat("the test '", test.name, "' takes ", test.arguments, " arguments"));
  }
  return test.function(machine, self, arguments);
}

bool IsGlobalFunction(absl::string_view name) {
  return name == "range" || name == "dict" || name == "namespace" || name == "raise_exception" ||
         name == "strftime_now";
}

absl::StatusOr<Value> CallGlobalFunction(Machine& machine, absl::string_view name,
                                         const Arguments& arguments) {
  if (name == "range") return Range(machine, arguments);
  if (name == "dict") return Mapping(machine, arguments, machine.arena.NewDict());
  if (name == "namespace") return Mapping(machine, arguments, machine.arena.NewNamespace());
  if (name == "raise_exception") return Refuse(arguments);
  return Now(machine, arguments);
}

}  // namespace shoal::text::jinja
