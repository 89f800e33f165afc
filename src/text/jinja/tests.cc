// SPDX-License-Identifier: Apache-2.0
// The tests of templates: "value is name".
#include <algorithm>
#include <iterator>

#include "base/status.h"
#include "text/jinja/builtins.h"
#include "text/jinja/operators.h"
#include "text/jinja/strings.h"

namespace shoal::text::jinja {
namespace {

template <Kind kKind>
absl::StatusOr<bool> IsKind(Machine&, const Value& self, const Arguments&) {
  return self.is(kKind);
}

template <Kind kKind>
absl::StatusOr<bool> IsNotKind(Machine&, const Value& self, const Arguments&) {
  return !self.is(kKind);
}

template <bool kWanted>
absl::StatusOr<bool> IsBoolean(Machine&, const Value& self, const Arguments&) {
  return self.is(Kind::kBool) && self.boolean == kWanted;
}

absl::StatusOr<bool> IsNumber(Machine&, const Value& self, const Arguments&) {
  return self.is_number();
}

absl::StatusOr<bool> IsIterable(Machine&, const Value& self, const Arguments&) {
  return self.is(Kind::kString) || self.is(Kind::kList) || self.is(Kind::kDict) ||
         self.is(Kind::kUndefined);
}

absl::StatusOr<bool> IsSame(Machine&, const Value& self, const Arguments& arguments) {
  const Value& other = arguments.positional[0];
  if (self.kind != other.kind) return false;
  if (self.is(Kind::kList)) return self.list == other.list;
  if (self.is(Kind::kDict)) return self.dict == other.dict;
  return Equal(self, other);
}

template <bool kOdd>
absl::StatusOr<bool> IsOdd(Machine&, const Value& self, const Arguments&) {
  if (self.is(Kind::kUndefined)) return FailUndefined(self);
  if (!self.is(Kind::kInt)) return Fail("odd and even test integers");
  return (self.integer % 2 != 0) == kOdd;
}

absl::StatusOr<bool> IsDivisible(Machine&, const Value& self, const Arguments& arguments) {
  const Value& by = arguments.positional[0];
  if (!self.is(Kind::kInt) || !by.is(Kind::kInt)) return Fail("divisibleby tests integers");
  if (by.integer == 0) return Fail("division by zero");
  return by.integer == -1 || self.integer % by.integer == 0;
}

// Comparison operators by name.
struct Equals {
  static constexpr char kOp[] = "==";
};
struct Differs {
  static constexpr char kOp[] = "!=";
};
struct Less {
  static constexpr char kOp[] = "<";
};
struct LessOrEqual {
  static constexpr char kOp[] = "<=";
};
struct Greater {
  static constexpr char kOp[] = ">";
};
struct GreaterOrEqual {
  static constexpr char kOp[] = ">=";
};
struct Within {
  static constexpr char kOp[] = "in";
};

template <typename Op>
absl::StatusOr<bool> Compares(Machine& machine, const Value& self, const Arguments& arguments) {
  return Compare(machine, Op::kOp, self, arguments.positional[0]);
}

template <Case kCase>
absl::StatusOr<bool> IsCase(Machine& machine, const Value& self, const Arguments&) {
  const Value text = ToString(machine, self);
  const Value same = ChangeCase(machine, text, kCase);
  const Value other =
      ChangeCase(machine, text, kCase == Case::kUpper ? Case::kLower : Case::kUpper);
  return text.str() == same.str() && text.str() != other.str();
}

template <auto kFind>
absl::StatusOr<bool> Names(Machine&, const Value& self, const Arguments&) {
  return self.is(Kind::kString) && kFind(self.str()) != nullptr;
}

// An undefined value could be called as well, to say that it is undefined.
absl::StatusOr<bool> IsCallable(Machine&, const Value& self, const Arguments&) {
  return self.is(Kind::kCallable) || self.is(Kind::kUndefined);
}

absl::StatusOr<bool> IsNever(Machine&, const Value&, const Arguments&) { return false; }

constexpr Test kTests[] = {
    {"defined", 0, IsNotKind<Kind::kUndefined>},
    {"undefined", 0, IsKind<Kind::kUndefined>},
    {"none", 0, IsKind<Kind::kNone>},
    {"string", 0, IsKind<Kind::kString>},
    {"mapping", 0, IsKind<Kind::kDict>},
    {"iterable", 0, IsIterable},
    {"sequence", 0, IsIterable},
    {"number", 0, IsNumber},
    {"integer", 0, IsKind<Kind::kInt>},
    {"float", 0, IsKind<Kind::kFloat>},
    {"boolean", 0, IsKind<Kind::kBool>},
    {"true", 0, IsBoolean<true>},
    {"false", 0, IsBoolean<false>},
    {"callable", 0, IsCallable},
    {"sameas", 1, IsSame},
    {"odd", 0, IsOdd<true>},
    {"even", 0, IsOdd<false>},
    {"divisibleby", 1, IsDivisible},
    {"equalto", 1, Compares<Equals>},
    {"eq", 1, Compares<Equals>},
    {"==", 1, Compares<Equals>},
    {"ne", 1, Compares<Differs>},
    {"!=", 1, Compares<Differs>},
    {"lt", 1, Compares<Less>},
    {"lessthan", 1, Compares<Less>},
    {"<", 1, Compares<Less>},
    {"le", 1, Compares<LessOrEqual>},
    {"<=", 1, Compares<LessOrEqual>},
    {"gt", 1, Compares<Greater>},
    {"greaterthan", 1, Compares<Greater>},
    {">", 1, Compares<Greater>},
    {"ge", 1, Compares<GreaterOrEqual>},
    {">=", 1, Compares<GreaterOrEqual>},
    {"in", 1, Compares<Within>},
    {"filter", 0, Names<FindFilter>},
    {"test", 0, Names<FindTest>},
    {"escaped", 0, IsNever},
    {"lower", 0, IsCase<Case::kLower>},
    {"upper", 0, IsCase<Case::kUpper>},
};

}  // namespace

const Test* FindTest(absl::string_view name) {
  const auto found = std::find_if(std::begin(kTests), std::end(kTests),
                                  [name](const Test& test) { return test.name == name; });
  return found == std::end(kTests) ? nullptr : found;
}

}  // namespace shoal::text::jinja
