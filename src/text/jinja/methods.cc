// SPDX-License-Identifier: Apache-2.0
// The methods of strings, lists and dicts that do not change them.
#include <algorithm>
#include <functional>
#include <iterator>
#include <optional>

#include "absl/strings/match.h"
#include "base/status.h"
#include "text/jinja/builtins.h"
#include "text/jinja/format.h"
#include "text/jinja/operators.h"
#include "text/jinja/string_methods.h"
#include "text/jinja/strings.h"
#include "text/utf8.h"

namespace shoal::text::jinja {
namespace {

using Result = absl::StatusOr<Value>;

// The string argument at `index`; null when it is missing or None.
absl::StatusOr<const Value*> StringArgument(const Arguments& arguments, size_t index,
                                            absl::string_view name) {
  const Value* value = arguments.Get(index, name);
  if (value == nullptr || value->is(Kind::kNone)) return nullptr;
  if (value->is(Kind::kUndefined)) return FailUndefined(*value);
  if (value->is(Kind::kString)) return value;
  return Fail(absl::StrCat("expected a string argument, found ", TypeName(*value)));
}

absl::StatusOr<const Value*> RequiredString(const Arguments& arguments, size_t index) {
  SHOAL_ASSIGN_OR_RETURN(const Value* const value, StringArgument(arguments, index, ""));
  if (value == nullptr) return Fail("a string argument is missing");
  return value;
}

absl::StatusOr<int64_t> Count(const Arguments& arguments, size_t index, absl::string_view name) {
  const Value* value = arguments.Get(index, name);
  if (value == nullptr) return -1;
  if (!value->is(Kind::kInt)) return Fail("expected an integer argument");
  return value->integer;
}

template <bool kLeft, bool kRight>
Result StripMethod(Machine& machine, const Value& self, const Arguments& arguments) {
  SHOAL_ASSIGN_OR_RETURN(const Value* const characters, StringArgument(arguments, 0, "chars"));
  return Strip(machine, self, characters, kLeft, kRight);
}

template <bool kRight>
Result SplitMethod(Machine& machine, const Value& self, const Arguments& arguments) {
  SHOAL_ASSIGN_OR_RETURN(const Value* const separator, StringArgument(arguments, 0, "sep"));
  SHOAL_ASSIGN_OR_RETURN(const int64_t count, Count(arguments, 1, "maxsplit"));
  return Split(machine, self, separator, count, kRight);
}

template <Case kCase>
Result CaseMethod(Machine& machine, const Value& self, const Arguments&) {
  return ChangeCase(machine, self, kCase);
}

template <bool kEnd>
Result AffixMethod(Machine&, const Value& self, const Arguments& arguments) {
  const auto matches = [&](const Value& affix) {
    return kEnd ? absl::EndsWith(self.str(), affix.str())
                : absl::StartsWith(self.str(), affix.str());
  };
  if (!arguments.positional.empty() && arguments.positional[0].is(Kind::kList)) {
    for (const Value& affix : arguments.positional[0].list->items) {
      if (!affix.is(Kind::kString)) return Fail("expected strings");
      if (matches(affix)) return Value::Bool(true);
    }
    return Value::Bool(false);
  }
  SHOAL_ASSIGN_OR_RETURN(const Value* const affix, RequiredString(arguments, 0));
  return Value::Bool(matches(*affix));
}

template <bool kEnd>
Result RemoveAffix(Machine& machine, const Value& self, const Arguments& arguments) {
  SHOAL_ASSIGN_OR_RETURN(const Value* const affix, RequiredString(arguments, 0));
  const size_t size = self.str().size();
  const size_t cut = affix->str().size();
  if (kEnd && absl::EndsWith(self.str(), affix->str())) return Part(machine, self, 0, size - cut);
  if (!kEnd && absl::StartsWith(self.str(), affix->str())) return Part(machine, self, cut, size);
  return self;
}

Result ReplaceMethod(Machine& machine, const Value& self, const Arguments& arguments) {
  SHOAL_ASSIGN_OR_RETURN(const Value* const from, RequiredString(arguments, 0));
  SHOAL_ASSIGN_OR_RETURN(const Value* const to, RequiredString(arguments, 1));
  SHOAL_ASSIGN_OR_RETURN(const int64_t count, Count(arguments, 2, "count"));
  return Replace(machine, self, *from, *to, count);
}

Result CountMethod(Machine& machine, const Value& self, const Arguments& arguments) {
  SHOAL_ASSIGN_OR_RETURN(const Value* const part, RequiredString(arguments, 0));
  SHOAL_RETURN_IF_ERROR(machine.Work(1 + static_cast<int64_t>(self.str().size() / 64)));
  if (part->str().empty()) return Value::Int(Length(self) + 1);
  int64_t count = 0;
  for (size_t at = self.str().find(part->str()); at != std::string::npos; ++count) {
    at = self.str().find(part->str(), at + part->str().size());
  }
  return Value::Int(count);
}

Result JoinMethod(Machine& machine, const Value& self, const Arguments& arguments) {
  if (arguments.positional.size() != 1) return Fail("join takes one argument");
  SHOAL_ASSIGN_OR_RETURN(const std::vector<Value> items, Iterate(machine, arguments.positional[0]));
  return Join(machine, self, items, /*strings_only=*/true);
}

template <bool kLast>
Result PartitionMethod(Machine& machine, const Value& self, const Arguments& arguments) {
  SHOAL_ASSIGN_OR_RETURN(const Value* const separator, RequiredString(arguments, 0));
  if (separator->str().empty()) return Fail("empty separator");
  const std::string& text = self.str();
  const size_t at = kLast ? text.rfind(separator->str()) : text.find(separator->str());
  const Value nothing = machine.arena.NewString("", false);
  if (at == std::string::npos) {
    if (kLast) return machine.arena.NewList({nothing, nothing, self}, /*tuple=*/true);
    return machine.arena.NewList({self, nothing, nothing}, /*tuple=*/true);
  }
  const size_t after = at + separator->str().size();
  return machine.arena.NewList({Part(machine, self, 0, at), Part(machine, self, at, after),
                                Part(machine, self, after, text.size())},
                               /*tuple=*/true);
}

Result SplitLinesMethod(Machine& machine, const Value& self, const Arguments& arguments) {
  const Value* keep = arguments.Get(0, "keepends");
  return SplitLines(machine, self, keep != nullptr && Truth(*keep));
}

template <bool (*kMatches)(uint32_t)>
Result AllMethod(Machine&, const Value& self, const Arguments&) {
  const std::string& text = self.str();
  for (size_t at = 0; at < text.size();) {
    const Utf8Step step = StepUtf8(text, at);
    if (!kMatches(step.code)) return Value::Bool(false);
    at += step.length;
  }
  return Value::Bool(!text.empty());
}

Result DictGet(Machine&, const Value& self, const Arguments& arguments) {
  const Value* key = arguments.Get(0, "key");
  if (key == nullptr) return Fail("get takes a key");
  if (const Value* found = self.dict->Find(*key)) return *found;
  const Value* missing = arguments.Get(1, "default");
  return missing == nullptr ? Value::None() : *missing;
}

Result DictItems(Machine& machine, const Value& self, const Arguments&) {
  std::vector<Value> items;
  for (const auto& [key, value] : self.dict->entries) {
    items.push_back(machine.arena.NewList({key, value}, /*tuple=*/true));
  }
  return machine.arena.NewList(std::move(items));
}

Result DictKeys(Machine& machine, const Value& self, const Arguments&) {
  std::vector<Value> items;
  for (const auto& [key, value] : self.dict->entries) items.push_back(key);
  return machine.arena.NewList(std::move(items));
}

Result DictValues(Machine& machine, const Value& self, const Arguments&) {
  std::vector<Value> items;
  for (const auto& [key, value] : self.dict->entries) items.push_back(value);
  return machine.arena.NewList(std::move(items));
}

Result CopyMethod(Machine& machine, const Value& self, const Arguments&) {
  if (self.is(Kind::kList)) return machine.arena.NewList(self.list->items);
  const Value copy = machine.arena.NewDict();
  machine.arena.Charge(self.dict->entries.size() * 4 * sizeof(Value));
  for (const auto& [key, value] : self.dict->entries) copy.dict->Set(key, value);
  return copy;
}

Result ListCount(Machine&, const Value& self, const Arguments& arguments) {
  if (arguments.positional.size() != 1) return Fail("count takes one argument");
  const auto& items = self.list->items;
  return Value::Int(std::count_if(items.begin(), items.end(), [&](const Value& item) {
    return Equal(item, arguments.positional[0]);
  }));
}

Result ListIndex(Machine&, const Value& self, const Arguments& arguments) {
  if (arguments.positional.size() != 1) return Fail("index takes one argument");
  const auto& items = self.list->items;
  const auto found = std::find_if(items.begin(), items.end(), [&](const Value& item) {
    return Equal(item, arguments.positional[0]);
  });
  if (found == items.end()) return Fail("the value is not in the list");
  return Value::Int(found - items.begin());
}

struct Method {
  Kind kind;
  const char* name;
  Result (*function)(Machine&, const Value&, const Arguments&);
};

constexpr Method kMethods[] = {
    {Kind::kString, "strip", StripMethod<true, true>},
    {Kind::kString, "lstrip", StripMethod<true, false>},
    {Kind::kString, "rstrip", StripMethod<false, true>},
    {Kind::kString, "split", SplitMethod<false>},
    {Kind::kString, "rsplit", SplitMethod<true>},
    {Kind::kString, "splitlines", SplitLinesMethod},
    {Kind::kString, "startswith", AffixMethod<false>},
    {Kind::kString, "endswith", AffixMethod<true>},
    {Kind::kString, "removeprefix", RemoveAffix<false>},
    {Kind::kString, "removesuffix", RemoveAffix<true>},
    {Kind::kString, "upper", CaseMethod<Case::kUpper>},
    {Kind::kString, "lower", CaseMethod<Case::kLower>},
    {Kind::kString, "title", CaseMethod<Case::kTitle>},
    {Kind::kString, "capitalize", CaseMethod<Case::kCapitalize>},
    {Kind::kString, "replace", ReplaceMethod},
    {Kind::kString, "find", FindMethod},
    {Kind::kString, "rfind", RightFindMethod},
    {Kind::kString, "index", IndexMethod},
    {Kind::kString, "rindex", RightIndexMethod},
    {Kind::kString, "center", CenterMethod},
    {Kind::kString, "ljust", LeftJustifyMethod},
    {Kind::kString, "rjust", RightJustifyMethod},
    {Kind::kString, "zfill", ZeroFillMethod},
    {Kind::kString, "swapcase", SwapCaseMethod},
    {Kind::kString, "format", BraceFormat},
    {Kind::kString, "count", CountMethod},
    {Kind::kString, "join", JoinMethod},
    {Kind::kString, "partition", PartitionMethod<false>},
    {Kind::kString, "rpartition", PartitionMethod<true>},
    {Kind::kString, "isalpha", AllMethod<IsAlpha>},
    {Kind::kString, "isdigit", AllMethod<IsDecimal>},
    {Kind::kString, "isdecimal", AllMethod<IsDecimal>},
    {Kind::kString, "isnumeric", AllMethod<IsNumeric>},
    {Kind::kString, "isalnum", AllMethod<IsAlphaOrNumeric>},
    {Kind::kString, "isupper", IsUpperMethod},
    {Kind::kString, "islower", IsLowerMethod},
    {Kind::kString, "isspace", AllMethod<IsPythonSpace>},
    {Kind::kDict, "get", DictGet},
    {Kind::kDict, "items", DictItems},
    {Kind::kDict, "keys", DictKeys},
    {Kind::kDict, "values", DictValues},
    {Kind::kDict, "copy", CopyMethod},
    {Kind::kList, "copy", CopyMethod},
    {Kind::kList, "count", ListCount},
    {Kind::kList, "index", ListIndex},
};

const Method* FindMethodOf(Kind kind, absl::string_view name) {
  const auto found = std::find_if(
      std::begin(kMethods), std::end(kMethods),
      [&](const Method& method) { return method.kind == kind && method.name == name; });
  return found == std::end(kMethods) ? nullptr : found;
}

}  // namespace

bool ChangesValue(const Value& self, absl::string_view name) {
  static constexpr absl::string_view kOfLists[] = {"append", "clear", "pop",    "reverse",
                                                   "insert", "sort",  "extend", "remove"};
  static constexpr absl::string_view kOfDicts[] = {"clear", "pop", "popitem", "setdefault",
                                                   "update"};
  if (self.is(Kind::kList) && !self.list->tuple) {
    return std::find(std::begin(kOfLists), std::end(kOfLists), name) != std::end(kOfLists);
  }
  return self.is(Kind::kDict) &&
         std::find(std::begin(kOfDicts), std::end(kOfDicts), name) != std::end(kOfDicts);
}

bool HasMethod(const Value& self, absl::string_view name) {
  return FindMethodOf(self.kind, name) != nullptr;
}

absl::StatusOr<Value> CallMethod(Machine& machine, const Value& self, absl::string_view name,
                                 const Arguments& arguments) {
  const bool string = self.is(Kind::kString);
  const int64_t size = string ? static_cast<int64_t>(self.str().size() / 64) : Length(self);
  SHOAL_RETURN_IF_ERROR(machine.Work(1 + size));
  return FindMethodOf(self.kind, name)->function(machine, self, arguments);
}

}  // namespace shoal::text::jinja
