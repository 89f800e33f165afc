// SPDX-License-Identifier: Apache-2.0
// The filters that cut a sequence into several: batch, slice, groupby.
#include <algorithm>
#include <utility>
#include <vector>

#include "base/status.h"
#include "text/jinja/operators.h"
#include "text/jinja/sequence_filters.h"

namespace shoal::text::jinja {
namespace {

using Result = absl::StatusOr<Value>;

constexpr int64_t kGroupsMax = 100'000;

absl::StatusOr<int64_t> Groups(const Value* count) {
  if (count == nullptr || !count->is(Kind::kInt)) return Fail("expected a number of items");
  if (count->integer < 1 || count->integer > kGroupsMax) {
    return Fail(absl::StrCat("the number of items must be in [1, ", kGroupsMax, "]"));
  }
  return count->integer;
}

bool Given(const Value* value) { return value != nullptr && !value->is(Kind::kNone); }

}  // namespace

Result BatchFilter(Machine& machine, const Value& self, const Arguments& arguments) {
  SHOAL_ASSIGN_OR_RETURN(const int64_t count, Groups(arguments.Get(0, "linecount")));
  const Value* fill = arguments.Get(1, "fill_with");
  SHOAL_ASSIGN_OR_RETURN(const std::vector<Value> items, Iterate(machine, self));
  std::vector<Value> batches;
  const size_t size = static_cast<size_t>(count);
  for (size_t begin = 0; begin < items.size(); begin += size) {
    const size_t end = std::min(begin + size, items.size());
    std::vector<Value> batch(items.begin() + static_cast<std::ptrdiff_t>(begin),
                             items.begin() + static_cast<std::ptrdiff_t>(end));
    if (Given(fill)) batch.resize(size, *fill);
    batches.push_back(machine.arena.NewList(std::move(batch)));
  }
  return machine.arena.NewList(std::move(batches));
}

Result SliceFilter(Machine& machine, const Value& self, const Arguments& arguments) {
  SHOAL_ASSIGN_OR_RETURN(const int64_t count, Groups(arguments.Get(0, "slices")));
  const Value* fill = arguments.Get(1, "fill_with");
  SHOAL_ASSIGN_OR_RETURN(const std::vector<Value> items, Iterate(machine, self));
  SHOAL_RETURN_IF_ERROR(machine.Work(count));
  const size_t slices = static_cast<size_t>(count);
  const size_t longer = items.size() % slices;  // the first ones take one item more
  std::vector<Value> out;
  size_t begin = 0;
  for (size_t i = 0; i < slices; ++i) {
    const size_t end = begin + items.size() / slices + (i < longer ? 1 : 0);
    std::vector<Value> slice(items.begin() + static_cast<std::ptrdiff_t>(begin),
                             items.begin() + static_cast<std::ptrdiff_t>(end));
    if (Given(fill) && i >= longer) slice.push_back(*fill);
    out.push_back(machine.arena.NewList(std::move(slice)));
    begin = end;
  }
  return machine.arena.NewList(std::move(out));
}

Result GroupByFilter(Machine& machine, const Value& self, const Arguments& arguments) {
  const Value* attribute = arguments.Get(0, "attribute");
  const Value* missing = arguments.Get(1, "default");
  const Value* case_sensitive = arguments.Get(2, "case_sensitive");
  if (attribute == nullptr) return Fail("groupby takes an attribute");
  SHOAL_ASSIGN_OR_RETURN(const std::vector<Value> items, Iterate(machine, self));
  std::vector<Value> pairs;  // (group as shown, item)
  for (const Value& item : items) {
    SHOAL_ASSIGN_OR_RETURN(Value group, DottedAttribute(machine, item, *attribute));
    if (group.is(Kind::kUndefined) && Given(missing)) group = *missing;
    pairs.push_back(machine.arena.NewList({group, item}, /*tuple=*/true));
  }
  const Value first = Value::Int(0);
  SHOAL_ASSIGN_OR_RETURN(const std::vector<Value> keys,
                         SortKeys(machine, pairs, &first, case_sensitive));
  SHOAL_ASSIGN_OR_RETURN(const std::vector<size_t> order, SortedOrder(machine, keys, false));
  std::vector<Value> groups;
  for (size_t i = 0; i < order.size(); ++i) {
    const Value& pair = pairs[order[i]];
    if (i == 0 || !Equal(keys[order[i]], keys[order[i - 1]])) {
      groups.push_back(
          machine.arena.NewList({pair.list->items[0], machine.arena.NewList({})}, /*tuple=*/true));
      groups.back().list->group = true;
    }
    groups.back().list->items[1].list->items.push_back(pair.list->items[1]);
  }
  machine.arena.Charge(items.size() * sizeof(Value));
  return machine.arena.NewList(std::move(groups));
}

}  // namespace shoal::text::jinja
