// SPDX-License-Identifier: Apache-2.0
#include "text/jinja/operators.h"

#include <algorithm>
#include <cmath>

#include "base/status.h"
#include "text/jinja/format.h"
#include "text/utf8.h"

namespace shoal::text::jinja {
namespace {

absl::Status Unsupported(absl::string_view op, const Value& a, const Value& b) {
  return Fail(absl::StrCat("unsupported operand types for ", op, ": '", TypeName(a), "' and '",
                           TypeName(b), "'"));
}

absl::StatusOr<Value> Repeat(Machine& machine, const Value& sequence, int64_t times) {
  const int64_t count = std::max<int64_t>(times, 0);
  if (sequence.is(Kind::kString)) {
    if (count > 0 && sequence.str().size() > TextBuilder::kBytesMax / count) {
      return Fail("a repeated string is too long");
    }
    TextBuilder out;
    for (int64_t i = 0; i < count && !sequence.str().empty(); ++i) out.Append(*sequence.text);
    return machine.arena.NewString(std::move(out));
  }
  const std::vector<Value>& items = sequence.list->items;
  if (count > 0 && items.size() > static_cast<size_t>(Machine::kWorkMax / count)) {
    return Fail("a repeated list is too long");
  }
  SHOAL_RETURN_IF_ERROR(machine.Work(static_cast<int64_t>(items.size()) * count));
  std::vector<Value> out;
  for (int64_t i = 0; i < count && !items.empty(); ++i) {
    out.insert(out.end(), items.begin(), items.end());
  }
  return machine.arena.NewList(std::move(out), sequence.list->tuple);
}

int64_t FloorDivide(int64_t a, int64_t b) {
  const int64_t quotient = a / b;
  return a % b != 0 && (a < 0) != (b < 0) ? quotient - 1 : quotient;
}

absl::StatusOr<Value> IntegerPower(int64_t base, int64_t exponent, bool user) {
  int64_t result = 1;
  for (int64_t i = 0; i < exponent; ++i) {
    if (__builtin_mul_overflow(result, base, &result)) return Fail("integer overflow in **");
    if (result == 0 || (result == 1 && base == 1)) break;
    if (base == -1) return Value::Int(exponent % 2 == 0 ? 1 : -1, user);
  }
  return Value::Int(result, user);
}

absl::StatusOr<Value> IntegerArithmetic(absl::string_view op, int64_t a, int64_t b, bool user) {
  int64_t result = 0;
  bool overflow = false;
  if (op == "+") {
    overflow = __builtin_add_overflow(a, b, &result);
  } else if (op == "-") {
    overflow = __builtin_sub_overflow(a, b, &result);
  } else if (op == "*") {
    overflow = __builtin_mul_overflow(a, b, &result);
  } else if (op == "**") {
    if (b < 0) return Value::Float(std::pow(static_cast<double>(a), static_cast<double>(b)), user);
    return IntegerPower(a, b, user);
  } else {
    if (b == 0) return Fail("division by zero");
    if (op == "/") return Value::Float(static_cast<double>(a) / static_cast<double>(b), user);
    overflow = a == INT64_MIN && b == -1;
    if (!overflow) result = op == "//" ? FloorDivide(a, b) : a - FloorDivide(a, b) * b;
  }
  if (overflow) return Fail(absl::StrCat("integer overflow in ", op));
  return Value::Int(result, user);
}

absl::StatusOr<Value> FloatArithmetic(absl::string_view op, double a, double b, bool user) {
  if (op == "+") return Value::Float(a + b, user);
  if (op == "-") return Value::Float(a - b, user);
  if (op == "*") return Value::Float(a * b, user);
  if (op == "**") return Value::Float(std::pow(a, b), user);
  if (b == 0) return Fail("division by zero");
  if (op == "/") return Value::Float(a / b, user);
  if (op == "//") return Value::Float(std::floor(a / b), user);
  const double remainder = std::fmod(a, b);
  return Value::Float(remainder != 0 && (remainder < 0) != (b < 0) ? remainder + b : remainder,
                      user);
}

absl::StatusOr<bool> Contains(Machine& machine, const Value& container, const Value& item) {
  switch (container.kind) {
    case Kind::kString:
      if (!item.is(Kind::kString)) {
        return Fail(
            absl::StrCat("'in <string>' requires a string on the left, not ", TypeName(item)));
      }
      SHOAL_RETURN_IF_ERROR(machine.Work(static_cast<int64_t>(container.str().size() / 64)));
      return container.str().find(item.str()) != std::string::npos;
    case Kind::kList: {
      SHOAL_RETURN_IF_ERROR(machine.Work(static_cast<int64_t>(container.list->items.size())));
      return std::any_of(container.list->items.begin(), container.list->items.end(),
                         [&](const Value& other) { return Equal(item, other); });
    }
    case Kind::kDict:
      return container.dict->Find(item) != nullptr;
    case Kind::kUndefined:
      return false;
    default:
      return Fail(absl::StrCat("'", TypeName(container), "' is not a container"));
  }
}

// Byte offset of each character, and one more for the end.
std::vector<size_t> CharacterOffsets(absl::string_view text) {
  std::vector<size_t> offsets;
  for (size_t i = 0; i < text.size(); ++i) {
    if ((static_cast<uint8_t>(text[i]) & 0xC0) != 0x80) offsets.push_back(i);
  }
  offsets.push_back(text.size());
  return offsets;
}

Value Characters(Machine& machine, const Text& text, const std::vector<size_t>& offsets,
                 size_t index) {
  TextBuilder out;
  out.Append(text, offsets[index], offsets[index + 1]);
  return machine.arena.NewString(std::move(out));
}

// Python's slice.indices().
struct SliceIndices {
  int64_t start = 0;
  int64_t stop = 0;
  int64_t step = 1;
};

absl::StatusOr<SliceIndices> ResolveSlice(const Value& start, const Value& stop, const Value& step,
                                          int64_t length) {
  for (const Value* bound : {&start, &stop, &step}) {
    if (bound->is(Kind::kUndefined)) return FailUndefined(*bound);
    if (!bound->is(Kind::kInt) && !bound->is(Kind::kNone) && !bound->is(Kind::kBool)) {
      return Fail("slice indices must be integers or None");
    }
  }
  SliceIndices result;
  if (!step.is(Kind::kNone)) result.step = step.as_int();
  if (result.step == 0) return Fail("slice step cannot be zero");
  const int64_t lower = result.step > 0 ? 0 : -1;
  const int64_t upper = result.step > 0 ? length : length - 1;
  const auto resolve = [&](const Value& bound, int64_t missing) {
    if (bound.is(Kind::kNone)) return missing;
    const int64_t index = bound.as_int();
    return index < 0 ? std::max(index < -length ? lower : index + length, lower)
                     : std::min(index, upper);
  };
  result.start = resolve(start, result.step > 0 ? lower : upper);
  result.stop = resolve(stop, result.step > 0 ? upper : lower);
  return result;
}

}  // namespace

absl::StatusOr<Value> Arithmetic(Machine& machine, absl::string_view op, const Value& a,
                                 const Value& b) {
  if (op == "~") {
    TextBuilder out;
    AppendStr(a, &out);
    AppendStr(b, &out);
    return machine.arena.NewString(std::move(out));
  }
  if (a.is(Kind::kUndefined)) return FailUndefined(a);
  if (op == "%" && a.is(Kind::kString)) return PercentFormat(machine, a, b);
  if (b.is(Kind::kUndefined)) return FailUndefined(b);
  if (a.is_number() && b.is_number()) {
    const bool user = a.user || b.user;
    if (a.is(Kind::kFloat) || b.is(Kind::kFloat)) {
      return FloatArithmetic(op, a.as_double(), b.as_double(), user);
    }
    return IntegerArithmetic(op, a.as_int(), b.as_int(), user);
  }
  if (op == "+" && a.is(Kind::kString) && b.is(Kind::kString)) {
    TextBuilder out;
    out.Append(*a.text);
    out.Append(*b.text);
    return machine.arena.NewString(std::move(out));
  }
  if (op == "+" && a.is(Kind::kList) && b.is(Kind::kList) && a.list->tuple == b.list->tuple) {
    std::vector<Value> items = a.list->items;
    items.insert(items.end(), b.list->items.begin(), b.list->items.end());
    SHOAL_RETURN_IF_ERROR(machine.Work(static_cast<int64_t>(items.size())));
    return machine.arena.NewList(std::move(items), a.list->tuple);
  }
  const auto sequence = [](const Value& v) { return v.is(Kind::kString) || v.is(Kind::kList); };
  const auto count = [](const Value& v) { return v.is(Kind::kInt) || v.is(Kind::kBool); };
  if (op == "*" && sequence(a) && count(b)) return Repeat(machine, a, b.as_int());
  if (op == "*" && count(a) && sequence(b)) return Repeat(machine, b, a.as_int());
  return Unsupported(op, a, b);
}

absl::StatusOr<Value> Negate(const Value& value) {
  if (value.is(Kind::kUndefined)) return FailUndefined(value);
  if (value.is(Kind::kFloat)) return Value::Float(-value.real, value.user);
  if (!value.is_number()) {
    return Fail(absl::StrCat("bad operand type for unary -: '", TypeName(value), "'"));
  }
  return IntegerArithmetic("-", 0, value.as_int(), value.user);
}

absl::StatusOr<int> Order(const Value& a, const Value& b) {
  if (a.is(Kind::kUndefined)) return FailUndefined(a);
  if (b.is(Kind::kUndefined)) return FailUndefined(b);
  if (a.is_number() && b.is_number()) {
    if (a.is(Kind::kFloat) || b.is(Kind::kFloat)) {
      return a.as_double() < b.as_double() ? -1 : a.as_double() > b.as_double() ? 1 : 0;
    }
    return a.as_int() < b.as_int() ? -1 : a.as_int() > b.as_int() ? 1 : 0;
  }
  if (a.is(Kind::kString) && b.is(Kind::kString)) {
    const int order = a.str().compare(b.str());
    return order < 0 ? -1 : order > 0 ? 1 : 0;
  }
  if (a.is(Kind::kList) && b.is(Kind::kList)) {
    const auto& x = a.list->items;
    const auto& y = b.list->items;
    for (size_t i = 0; i < x.size() && i < y.size(); ++i) {
      if (Equal(x[i], y[i])) continue;
      if (x[i].is(Kind::kList) && y[i].is(Kind::kList)) {
        return Fail("lists inside lists have no order here");
      }
      return Order(x[i], y[i]);
    }
    return x.size() < y.size() ? -1 : x.size() > y.size() ? 1 : 0;
  }
  return Fail(
      absl::StrCat("'", TypeName(a), "' and '", TypeName(b), "' cannot be compared for order"));
}

absl::StatusOr<bool> Compare(Machine& machine, absl::string_view op, const Value& a,
                             const Value& b) {
  if (op == "==") return Equal(a, b);
  if (op == "!=") return !Equal(a, b);
  if (op == "in") return Contains(machine, b, a);
  if (op == "not in") {
    SHOAL_ASSIGN_OR_RETURN(const bool contains, Contains(machine, b, a));
    return !contains;
  }
  SHOAL_ASSIGN_OR_RETURN(const int order, Order(a, b));
  if (op == "<") return order < 0;
  if (op == "<=") return order <= 0;
  if (op == ">") return order > 0;
  return order >= 0;
}

absl::StatusOr<Value> GetAttribute(Machine& machine, const Value& object, absl::string_view name) {
  if (object.is(Kind::kUndefined)) return FailUndefined(object);
  if (ChangesValue(object, name)) {
    return machine.arena.NewUndefined(absl::StrCat("access to attribute '", name, "' of '",
                                                   TypeName(object), "' object is unsafe"));
  }
  if (object.is(Kind::kList) && object.list->group && (name == "grouper" || name == "list")) {
    return object.list->items[name == "list" ? 1 : 0];
  }
  if (object.is(Kind::kNamespace)) {
    if (const Value* found = object.dict->Find(name)) return *found;
  } else if (HasMethod(object, name)) {
    return machine.arena.NewCallable({.type = Callable::Type::kMethod,
                                      .name = std::string(name),
                                      .self = object,
                                      .macro = nullptr});
  } else if (object.is(Kind::kDict)) {
    if (const Value* found = object.dict->Find(name)) return *found;
  }
  return machine.arena.NewUndefined(
      absl::StrCat("'", TypeName(object), " object' has no attribute '", name, "'"));
}

absl::StatusOr<Value> GetItem(Machine& machine, const Value& object, const Value& key) {
  if (object.is(Kind::kUndefined)) return FailUndefined(object);
  if (key.is(Kind::kUndefined) && !object.is(Kind::kDict)) return FailUndefined(key);
  if (object.is(Kind::kDict)) {
    if (const Value* found = object.dict->Find(key)) return *found;
  }
  const bool index = key.is(Kind::kInt) || key.is(Kind::kBool);
  if (index && (object.is(Kind::kList) || object.is(Kind::kString))) {
    const int64_t length = Length(object);
    const int64_t at = key.as_int() < 0 ? key.as_int() + length : key.as_int();
    if (at >= 0 && at < length) {
      if (object.is(Kind::kList)) return object.list->items[at];
      return Characters(machine, *object.text, CharacterOffsets(object.str()), at);
    }
    return machine.arena.NewUndefined(
        absl::StrCat(TypeName(object), " object has no element ", key.as_int()));
  }
  if (key.is(Kind::kString)) return GetAttribute(machine, object, key.str());
  return machine.arena.NewUndefined(
      absl::StrCat("'", TypeName(object), " object' has no such element"));
}

absl::StatusOr<Value> Slice(Machine& machine, const Value& object, const Value& start,
                            const Value& stop, const Value& step) {
  if (object.is(Kind::kUndefined)) return FailUndefined(object);
  const bool is_string = object.is(Kind::kString);
  if (!is_string && !object.is(Kind::kList)) {
    return Fail(absl::StrCat("'", TypeName(object), "' cannot be sliced"));
  }
  SHOAL_ASSIGN_OR_RETURN(const SliceIndices range, ResolveSlice(start, stop, step, Length(object)));
  SHOAL_RETURN_IF_ERROR(machine.Work(is_string ? 1 + Length(object) / 64 : Length(object)));
  if (is_string) {
    const std::vector<size_t> offsets = CharacterOffsets(object.str());
    TextBuilder out;
    if (range.step == 1) {
      if (range.start < range.stop) {
        out.Append(*object.text, offsets[range.start], offsets[range.stop]);
      }
    } else {
      for (int64_t i = range.start; range.step > 0 ? i < range.stop : i > range.stop;
           i += range.step) {
        out.Append(*object.text, offsets[i], offsets[i + 1]);
      }
    }
    return machine.arena.NewString(std::move(out));
  }
  std::vector<Value> items;
  for (int64_t i = range.start; range.step > 0 ? i < range.stop : i > range.stop; i += range.step) {
    items.push_back(object.list->items[i]);
  }
  return machine.arena.NewList(std::move(items), object.list->tuple);
}

absl::StatusOr<std::vector<Value>> Iterate(Machine& machine, const Value& value) {
  std::vector<Value> items;
  if (value.is(Kind::kList)) {
    items = value.list->items;
  } else if (value.is(Kind::kDict)) {
    for (const auto& [key, unused] : value.dict->entries) items.push_back(key);
  } else if (value.is(Kind::kString)) {
    SHOAL_RETURN_IF_ERROR(machine.Work(static_cast<int64_t>(value.str().size())));
    const std::vector<size_t> offsets = CharacterOffsets(value.str());
    for (size_t i = 0; i + 1 < offsets.size(); ++i) {
      items.push_back(Characters(machine, *value.text, offsets, i));
    }
  } else if (!value.is(Kind::kUndefined)) {
    return Fail(absl::StrCat("'", TypeName(value), "' is not iterable"));
  }
  SHOAL_RETURN_IF_ERROR(machine.Work(static_cast<int64_t>(items.size())));
  return items;
}

Value ToString(Machine& machine, const Value& value) {
  if (value.is(Kind::kString)) return value;
  TextBuilder out;
  AppendStr(value, &out);
  return machine.arena.NewString(std::move(out));
}

}  // namespace shoal::text::jinja
