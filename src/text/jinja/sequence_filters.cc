// SPDX-License-Identifier: Apache-2.0
#include "text/jinja/sequence_filters.h"

#include <algorithm>
#include <string>
#include <utility>
#include <vector>

#include "absl/strings/numbers.h"
#include "absl/strings/str_split.h"
#include "base/status.h"
#include "text/jinja/operators.h"
#include "text/jinja/strings.h"

namespace shoal::text::jinja {
namespace {

using Result = absl::StatusOr<Value>;

Arguments Rest(const Arguments& arguments, size_t skip) {
  Arguments rest = arguments;
  rest.positional.erase(rest.positional.begin(),
                        rest.positional.begin() +
                            static_cast<std::ptrdiff_t>(std::min(skip, rest.positional.size())));
  return rest;
}

// select and its kin: keeps the items for which the test (or truth) says `wanted`.
Result Choose(Machine& machine, const Value& self, const Arguments& arguments, bool attribute,
              bool wanted) {
  const size_t skip = attribute ? 1 : 0;
  if (arguments.positional.size() < skip) return Fail("missing the name of an attribute");
  const Test* test = nullptr;
  if (arguments.positional.size() > skip) {
    const Value& name = arguments.positional[skip];
    if (!name.is(Kind::kString)) return Fail("a test must be named by a string");
    test = FindTest(name.str());
    if (test == nullptr) return Fail(absl::StrCat("no test named '", name.str(), "'"));
  }
  const Arguments rest = Rest(arguments, skip + 1);
  SHOAL_ASSIGN_OR_RETURN(const std::vector<Value> items, Iterate(machine, self));
  std::vector<Value> kept;
  for (const Value& item : items) {
    SHOAL_RETURN_IF_ERROR(machine.Work());
    Value subject = item;
    if (attribute) {
      SHOAL_ASSIGN_OR_RETURN(subject, DottedAttribute(machine, item, arguments.positional[0]));
    }
    bool holds = Truth(subject);
    if (test != nullptr) {
      SHOAL_ASSIGN_OR_RETURN(holds, ApplyTest(machine, *test, subject, rest));
    }
    if (holds == wanted) kept.push_back(item);
  }
  return machine.arena.NewList(std::move(kept));
}

Result Sorted(Machine& machine, const std::vector<Value>& items, const std::vector<Value>& keys,
              const Value* reverse) {
  SHOAL_ASSIGN_OR_RETURN(const std::vector<size_t> order,
                         SortedOrder(machine, keys, reverse != nullptr && Truth(*reverse)));
  std::vector<Value> sorted;
  for (const size_t i : order) sorted.push_back(items[i]);
  return machine.arena.NewList(std::move(sorted));
}

Result Extreme(Machine& machine, const Value& self, const Arguments& arguments, int sign) {
  SHOAL_ASSIGN_OR_RETURN(const std::vector<Value> items, Iterate(machine, self));
  if (items.empty()) return machine.arena.NewUndefined("No aggregated item, sequence was empty.");
  SHOAL_ASSIGN_OR_RETURN(
      const std::vector<Value> keys,
      SortKeys(machine, items, arguments.Get(1, "attribute"), arguments.Get(0, "case_sensitive")));
  size_t best = 0;
  for (size_t i = 1; i < items.size(); ++i) {
    SHOAL_ASSIGN_OR_RETURN(const int order, Order(keys[i], keys[best]));
    if (order == sign) best = i;
  }
  return items[best];
}

}  // namespace

Result DottedAttribute(Machine& machine, const Value& object, const Value& path) {
  if (path.is(Kind::kInt)) return GetItem(machine, object, path);
  if (!path.is(Kind::kString)) return Fail("an attribute must be named by a string");
  Value value = object;
  for (const absl::string_view part : absl::StrSplit(path.str(), '.')) {
    int64_t index = 0;
    const Value key =
        absl::SimpleAtoi(part, &index) ? Value::Int(index) : machine.arena.NewString(part, false);
    SHOAL_ASSIGN_OR_RETURN(value, GetItem(machine, value, key));
  }
  return value;
}

absl::StatusOr<std::vector<Value>> SortKeys(Machine& machine, const std::vector<Value>& items,
                                            const Value* attribute, const Value* case_sensitive) {
  const bool fold = case_sensitive == nullptr || !Truth(*case_sensitive);
  std::vector<Value> keys;
  for (const Value& item : items) {
    Value key = item;
    if (attribute != nullptr && !attribute->is(Kind::kNone)) {
      SHOAL_ASSIGN_OR_RETURN(key, DottedAttribute(machine, item, *attribute));
    }
    if (fold && key.is(Kind::kString)) key = ChangeCase(machine, key, Case::kLower);
    if (!keys.empty()) SHOAL_RETURN_IF_ERROR(Order(keys[0], key).status());
    keys.push_back(key);
  }
  if (keys.size() > 1 && keys[0].is(Kind::kList)) return Fail("lists have no order here");
  return keys;
}

absl::StatusOr<std::vector<size_t>> SortedOrder(Machine& machine, const std::vector<Value>& keys,
                                                bool reverse) {
  SHOAL_RETURN_IF_ERROR(machine.Work(static_cast<int64_t>(keys.size()) * 4));
  std::vector<size_t> order(keys.size());
  for (size_t i = 0; i < order.size(); ++i) order[i] = i;
  // Keys were found comparable with the first one, so they are with each other.
  std::stable_sort(order.begin(), order.end(), [&](size_t a, size_t b) {
    const auto ordering = Order(keys[reverse ? b : a], keys[reverse ? a : b]);
    return ordering.ok() && *ordering < 0;
  });
  return order;
}

Result MapFilter(Machine& machine, const Value& self, const Arguments& arguments) {
  SHOAL_ASSIGN_OR_RETURN(const std::vector<Value> items, Iterate(machine, self));
  const bool by_filter = !arguments.positional.empty();
  const Value* attribute = arguments.Get(SIZE_MAX, "attribute");
  const Value* missing = arguments.Get(SIZE_MAX, "default");
  const Filter* filter = nullptr;
  if (by_filter) {
    const Value& name = arguments.positional[0];
    filter = name.is(Kind::kString) ? FindFilter(name.str()) : nullptr;
    if (filter == nullptr) return Fail("map: no filter of this name");
  } else if (attribute == nullptr) {
    return Fail("map takes a filter or attribute=");
  }
  const Arguments rest = Rest(arguments, 1);
  std::vector<Value> mapped;
  for (const Value& item : items) {
    SHOAL_RETURN_IF_ERROR(machine.Work());
    Value value;
    if (by_filter) {
      SHOAL_ASSIGN_OR_RETURN(value, ApplyFilter(machine, *filter, item, rest));
    } else {
      SHOAL_ASSIGN_OR_RETURN(value, DottedAttribute(machine, item, *attribute));
      if (value.is(Kind::kUndefined) && missing != nullptr) value = *missing;
    }
    mapped.push_back(value);
  }
  return machine.arena.NewList(std::move(mapped));
}

Result SelectFilter(Machine& machine, const Value& self, const Arguments& arguments) {
  return Choose(machine, self, arguments, /*attribute=*/false, /*wanted=*/true);
}

Result RejectFilter(Machine& machine, const Value& self, const Arguments& arguments) {
  return Choose(machine, self, arguments, /*attribute=*/false, /*wanted=*/false);
}

Result SelectAttributeFilter(Machine& machine, const Value& self, const Arguments& arguments) {
  return Choose(machine, self, arguments, /*attribute=*/true, /*wanted=*/true);
}

Result RejectAttributeFilter(Machine& machine, const Value& self, const Arguments& arguments) {
  return Choose(machine, self, arguments, /*attribute=*/true, /*wanted=*/false);
}

Result JoinFilter(Machine& machine, const Value& self, const Arguments& arguments) {
  SHOAL_ASSIGN_OR_RETURN(std::vector<Value> items, Iterate(machine, self));
  const Value* separator = arguments.Get(0, "d");
  const Value* attribute = arguments.Get(1, "attribute");
  if (attribute != nullptr && !attribute->is(Kind::kNone)) {
    for (Value& item : items) {
      SHOAL_ASSIGN_OR_RETURN(item, DottedAttribute(machine, item, *attribute));
    }
  }
  const Value nothing = machine.arena.NewString("", false);
  return Join(machine, separator == nullptr ? nothing : *separator, items, /*strings_only=*/false);
}

Result SortFilter(Machine& machine, const Value& self, const Arguments& arguments) {
  SHOAL_ASSIGN_OR_RETURN(const std::vector<Value> items, Iterate(machine, self));
  const Value* reverse = arguments.Get(0, "reverse");
  SHOAL_ASSIGN_OR_RETURN(
      const std::vector<Value> keys,
      SortKeys(machine, items, arguments.Get(2, "attribute"), arguments.Get(1, "case_sensitive")));
  return Sorted(machine, items, keys, reverse);
}

Result DictSortFilter(Machine& machine, const Value& self, const Arguments& arguments) {
  if (!self.is(Kind::kDict)) return Fail("dictsort takes a dict");
  const Value* by = arguments.Get(1, "by");
  const Value* reverse = arguments.Get(2, "reverse");
  const bool by_value = by != nullptr && by->is(Kind::kString) && by->str() == "value";
  std::vector<Value> items;
  for (const auto& [key, value] : self.dict->entries) {
    items.push_back(machine.arena.NewList({key, value}, /*tuple=*/true));
  }
  const Value position = Value::Int(by_value ? 1 : 0);
  SHOAL_ASSIGN_OR_RETURN(const std::vector<Value> keys,
                         SortKeys(machine, items, &position, arguments.Get(0, "case_sensitive")));
  return Sorted(machine, items, keys, reverse);
}

Result UniqueFilter(Machine& machine, const Value& self, const Arguments& arguments) {
  SHOAL_ASSIGN_OR_RETURN(const std::vector<Value> items, Iterate(machine, self));
  SHOAL_ASSIGN_OR_RETURN(
      const std::vector<Value> keys,
      SortKeys(machine, items, arguments.Get(1, "attribute"), arguments.Get(0, "case_sensitive")));
  std::vector<Value> seen;
  std::vector<Value> kept;
  for (size_t i = 0; i < items.size(); ++i) {
    SHOAL_RETURN_IF_ERROR(machine.Work(static_cast<int64_t>(seen.size())));
    const bool known = std::any_of(seen.begin(), seen.end(),
                                   [&](const Value& other) { return Equal(other, keys[i]); });
    if (known) continue;
    seen.push_back(keys[i]);
    kept.push_back(items[i]);
  }
  return machine.arena.NewList(std::move(kept));
}

Result ReverseFilter(Machine& machine, const Value& self, const Arguments&) {
  if (self.is(Kind::kString)) {
    return Slice(machine, self, Value::None(), Value::None(), Value::Int(-1));
  }
  SHOAL_ASSIGN_OR_RETURN(std::vector<Value> items, Iterate(machine, self));
  std::reverse(items.begin(), items.end());
  return machine.arena.NewList(std::move(items));
}

Result SumFilter(Machine& machine, const Value& self, const Arguments& arguments) {
  SHOAL_ASSIGN_OR_RETURN(const std::vector<Value> items, Iterate(machine, self));
  const Value* attribute = arguments.Get(0, "attribute");
  const Value* start = arguments.Get(1, "start");
  Value sum = start == nullptr ? Value::Int(0) : *start;
  for (const Value& item : items) {
    Value value = item;
    if (attribute != nullptr && !attribute->is(Kind::kNone)) {
      SHOAL_ASSIGN_OR_RETURN(value, DottedAttribute(machine, item, *attribute));
    }
    SHOAL_ASSIGN_OR_RETURN(sum, Arithmetic(machine, "+", sum, value));
  }
  return sum;
}

Result MinFilter(Machine& machine, const Value& self, const Arguments& arguments) {
  return Extreme(machine, self, arguments, -1);
}

Result MaxFilter(Machine& machine, const Value& self, const Arguments& arguments) {
  return Extreme(machine, self, arguments, 1);
}

Result FirstFilter(Machine& machine, const Value& self, const Arguments&) {
  SHOAL_ASSIGN_OR_RETURN(const std::vector<Value> items, Iterate(machine, self));
  if (items.empty()) return machine.arena.NewUndefined("No first item, sequence was empty.");
  return items.front();
}

Result LastFilter(Machine& machine, const Value& self, const Arguments&) {
  SHOAL_ASSIGN_OR_RETURN(const std::vector<Value> items, Iterate(machine, self));
  if (items.empty()) return machine.arena.NewUndefined("No last item, sequence was empty.");
  return items.back();
}

Result ListFilter(Machine& machine, const Value& self, const Arguments&) {
  SHOAL_ASSIGN_OR_RETURN(std::vector<Value> items, Iterate(machine, self));
  return machine.arena.NewList(std::move(items));
}

Result ItemsFilter(Machine& machine, const Value& self, const Arguments& arguments) {
  if (self.is(Kind::kUndefined)) return machine.arena.NewList({});
  if (!self.is(Kind::kDict)) return Fail("Can only get item pairs from a mapping.");
  return CallMethod(machine, self, "items", arguments);
}

}  // namespace shoal::text::jinja
