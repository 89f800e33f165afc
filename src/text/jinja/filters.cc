// SPDX-License-Identifier: Apache-2.0
// The filters of templates: "value | name(arguments)".
#include <algorithm>
#include <cmath>
#include <cstdio>
#include <iterator>
#include <optional>
#include <string>
#include <utility>

#include "absl/strings/ascii.h"
#include "absl/strings/numbers.h"
#include "absl/strings/strip.h"
#include "base/status.h"
#include "text/jinja/builtins.h"
#include "text/jinja/json.h"
#include "text/jinja/operators.h"
#include "text/jinja/sequence_filters.h"
#include "text/jinja/string_filters.h"
#include "text/jinja/strings.h"
#include "text/utf8.h"

namespace shoal::text::jinja {
namespace {

using Result = absl::StatusOr<Value>;

constexpr int64_t kWidthMax = 1000;

bool Given(const Value* value) { return value != nullptr && !value->is(Kind::kNone); }

Result Trim(Machine& machine, const Value& self, const Arguments& arguments) {
  const Value* characters = arguments.Get(0, "chars");
  if (!Given(characters)) characters = nullptr;
  if (characters != nullptr && !characters->is(Kind::kString)) return Fail("trim takes a string");
  return Strip(machine, ToString(machine, self), characters, true, true);
}

template <Case kCase>
Result CaseFilter(Machine& machine, const Value& self, const Arguments&) {
  return ChangeCase(machine, ToString(machine, self), kCase);
}

// Words begin after white space and opening signs; inside them letters become small.
Result Title(Machine& machine, const Value& self, const Arguments&) {
  const Value text = ToString(machine, self);
  TextBuilder out;
  size_t begin = 0;
  const auto flush = [&](size_t end) {
    if (begin == end) return;
    out.Append(*ChangeCase(machine, Part(machine, text, begin, end), Case::kCapitalize).text);
    begin = end;
  };
  for (size_t at = 0; at < text.str().size();) {
    const Utf8Step step = StepUtf8(text.str(), at);
    const bool opens = IsPythonSpace(step.code) ||
                       (step.code < 0x80 && std::string("-({[<").find(
                                                static_cast<char>(step.code)) != std::string::npos);
    if (opens) {
      flush(at);
      out.Append(*text.text, at, at + step.length);
      begin = at + step.length;
    }
    at += step.length;
  }
  flush(text.str().size());
  SHOAL_RETURN_IF_ERROR(machine.Work(1 + static_cast<int64_t>(text.str().size() / 16)));
  return machine.arena.NewString(std::move(out));
}

Result ReplaceFilter(Machine& machine, const Value& self, const Arguments& arguments) {
  const Value* from = arguments.Get(0, "old");
  const Value* to = arguments.Get(1, "new");
  const Value* count = arguments.Get(2, "count");
  if (from == nullptr || to == nullptr) return Fail("replace takes two strings");
  if (Given(count) && !count->is(Kind::kInt)) return Fail("replace's count is no integer");
  return Replace(machine, ToString(machine, self), ToString(machine, *from), ToString(machine, *to),
                 Given(count) ? count->integer : -1);
}

Result Default(Machine& machine, const Value& self, const Arguments& arguments) {
  const Value* boolean = arguments.Get(1, "boolean");
  const bool falsy = boolean != nullptr && Truth(*boolean) && !Truth(self);
  if (!self.is(Kind::kUndefined) && !falsy) return self;
  const Value* value = arguments.Get(0, "default_value");
  return value == nullptr ? machine.arena.NewString("", false) : *value;
}

Result LengthFilter(Machine&, const Value& self, const Arguments&) {
  if (self.is(Kind::kUndefined)) return Value::Int(0);
  const int64_t length = Length(self);
  if (length < 0) return Fail(absl::StrCat("object of type '", TypeName(self), "' has no len()"));
  return Value::Int(length);
}

Result StringFilter(Machine& machine, const Value& self, const Arguments&) {
  return ToString(machine, self);
}

Result Identity(Machine&, const Value& self, const Arguments&) { return self; }

// int(text, radix) of Python; 0: by the prefix.
std::optional<int64_t> ParseInteger(absl::string_view text, int64_t radix) {
  text = absl::StripAsciiWhitespace(text);
  bool negative = absl::ConsumePrefix(&text, "-");
  if (!negative) absl::ConsumePrefix(&text, "+");
  static constexpr std::pair<char, int> kPrefixes[] = {{'x', 16}, {'o', 8}, {'b', 2}};
  for (const auto& [letter, of] : kPrefixes) {
    const bool here = text.size() > 2 && text[0] == '0' && absl::ascii_tolower(text[1]) == letter;
    if (!here || (radix != of && radix != 0)) continue;
    text.remove_prefix(2);
    radix = of;
    break;
  }
  if (radix == 0) radix = 10;
  if (radix < 2 || radix > 36 || text.empty()) return std::nullopt;
  int64_t value = 0;
  for (const char c : text) {
    const int64_t digit = absl::ascii_isdigit(c)   ? c - '0'
                          : absl::ascii_isalpha(c) ? absl::ascii_tolower(c) - 'a' + 10
                                                   : radix;
    if (digit >= radix || __builtin_mul_overflow(value, radix, &value) ||
        __builtin_sub_overflow(value, digit, &value)) {
      return std::nullopt;
    }
  }
  if (!negative && value == INT64_MIN) return std::nullopt;
  return negative ? value : -value;
}

Result IntFilter(Machine&, const Value& self, const Arguments& arguments) {
  if (self.is(Kind::kUndefined)) return FailUndefined(self);
  const Value* missing = arguments.Get(0, "default");
  const Value* base = arguments.Get(1, "base");
  if (Given(base) && !base->is(Kind::kInt)) return Fail("int's base is no integer");
  const int64_t radix = Given(base) ? base->integer : 10;
  if (self.is(Kind::kString) && radix != 10) {
    const std::optional<int64_t> parsed = ParseInteger(self.str(), radix);
    if (parsed.has_value()) return Value::Int(*parsed, HasUser(self));
  }
  if (self.is(Kind::kInt)) return self;
  if (self.is(Kind::kBool)) return Value::Int(self.as_int());
  double real = NAN;
  int64_t integer = 0;
  if (self.is(Kind::kFloat)) real = self.real;
  if (self.is(Kind::kString)) {
    if (absl::SimpleAtoi(self.str(), &integer)) return Value::Int(integer, HasUser(self));
    if (!absl::SimpleAtod(self.str(), &real)) real = NAN;
  }
  if (std::isfinite(real) && std::fabs(real) < 9.2e18) {
    return Value::Int(static_cast<int64_t>(real), HasUser(self));
  }
  return missing == nullptr ? Value::Int(0) : *missing;
}

Result FloatFilter(Machine&, const Value& self, const Arguments& arguments) {
  if (self.is(Kind::kUndefined)) return FailUndefined(self);
  if (self.is_number()) return Value::Float(self.as_double(), self.user);
  double real = 0;
  if (self.is(Kind::kString) && absl::SimpleAtod(self.str(), &real)) {
    return Value::Float(real, HasUser(self));
  }
  const Value* missing = arguments.Get(0, "default");
  return missing == nullptr ? Value::Float(0) : *missing;
}

Result Abs(Machine&, const Value& self, const Arguments&) {
  if (self.is(Kind::kUndefined)) return FailUndefined(self);
  if (!self.is_number()) return Fail("abs takes a number");
  return self.as_double() < 0 ? Negate(self) : Result(self);
}

Result Round(Machine&, const Value& self, const Arguments& arguments) {
  if (self.is(Kind::kUndefined)) return FailUndefined(self);
  if (!self.is_number()) return Fail("round takes a number");
  const Value* precision = arguments.Get(0, "precision");
  const Value* method = arguments.Get(1, "method");
  const int64_t digits = Given(precision) && precision->is(Kind::kInt) ? precision->integer : 0;
  if (digits < 0 || digits > 15) return Fail("round's precision must be in [0, 15]");
  const std::string how = Given(method) && method->is(Kind::kString) ? method->str() : "common";
  const double scale = std::pow(10.0, static_cast<double>(digits));
  if (how == "ceil") return Value::Float(std::ceil(self.as_double() * scale) / scale, self.user);
  if (how == "floor") return Value::Float(std::floor(self.as_double() * scale) / scale, self.user);
  if (how != "common") return Fail("round's method must be common, ceil or floor");
  if (!self.is(Kind::kFloat)) return Value::Int(self.as_int(), self.user);
  char buffer[400];
  std::snprintf(buffer, sizeof(buffer), "%.*f", static_cast<int>(digits), self.as_double());
  double rounded = 0;
  if (!absl::SimpleAtod(buffer, &rounded)) return Fail("round: not a number");
  return Value::Float(rounded, self.user);
}

Result Indent(Machine& machine, const Value& self, const Arguments& arguments) {
  const Value* width = arguments.Get(0, "width");
  const Value* first = arguments.Get(1, "first");
  const Value* blank = arguments.Get(2, "blank");
  Value indention = machine.arena.NewString("    ", false);
  if (Given(width) && width->is(Kind::kString)) indention = *width;
  if (Given(width) && width->is(Kind::kInt)) {
    if (width->integer > kWidthMax) return Fail(absl::StrCat("indent's width exceeds ", kWidthMax));
    indention = machine.arena.NewString(
        std::string(static_cast<size_t>(std::max<int64_t>(width->integer, 0)), ' '), false);
  }
  TextBuilder source;
  AppendStr(self, &source);
  source.Append("\n", false);
  SHOAL_ASSIGN_OR_RETURN(
      const Value lines,
      SplitLines(machine, machine.arena.NewString(std::move(source)), /*keep_ends=*/false));
  TextBuilder out;
  for (size_t i = 0; i < lines.list->items.size(); ++i) {
    const Text& line = *lines.list->items[i].text;
    if (i > 0) out.Append("\n", false);
    const bool wanted = i == 0 ? first != nullptr && Truth(*first)
                               : !line.bytes.empty() || (blank != nullptr && Truth(*blank));
    if (wanted) out.Append(*indention.text);
    out.Append(line);
  }
  return machine.arena.NewString(std::move(out));
}

Result ToJson(Machine& machine, const Value& self, const Arguments& arguments) {
  JsonStyle style;
  if (const Value* ascii = arguments.Get(0, "ensure_ascii")) style.ensure_ascii = Truth(*ascii);
  const Value* indent = arguments.Get(1, "indent");
  if (Given(indent)) {
    if (!indent->is(Kind::kInt) || indent->integer > kWidthMax) {
      return Fail("tojson's indent must be a small integer");
    }
    style.indent = static_cast<int>(std::max<int64_t>(indent->integer, 0));
  }
  const Value* separators = arguments.Get(2, "separators");
  if (Given(separators)) {
    if (!separators->is(Kind::kList) || separators->list->items.size() != 2 ||
        !separators->list->items[0].is(Kind::kString) ||
        !separators->list->items[1].is(Kind::kString)) {
      return Fail("tojson's separators must be two strings");
    }
    style.item_separator = separators->list->items[0].str();
    style.key_separator = separators->list->items[1].str();
  }
  if (const Value* sort = arguments.Get(3, "sort_keys")) style.sort_keys = Truth(*sort);
  TextBuilder out;
  SHOAL_RETURN_IF_ERROR(AppendJson(self, style, &out));
  SHOAL_RETURN_IF_ERROR(machine.Work(1 + static_cast<int64_t>(out.size() / 16)));
  return machine.arena.NewString(std::move(out));
}

Result Escape(Machine& machine, const Value& self, const Arguments&) {
  Value text = ToString(machine, self);
  static constexpr const char* kPairs[][2] = {
      {"&", "&amp;"}, {"<", "&lt;"}, {">", "&gt;"}, {"'", "&#39;"}, {"\"", "&#34;"}};
  for (const auto& [from, to] : kPairs) {
    SHOAL_ASSIGN_OR_RETURN(text, Replace(machine, text, machine.arena.NewString(from, false),
                                         machine.arena.NewString(to, false), -1));
  }
  return text;
}

Result Attribute(Machine& machine, const Value& self, const Arguments& arguments) {
  const Value* name = arguments.Get(0, "name");
  if (name == nullptr || !name->is(Kind::kString)) return Fail("attr takes a name");
  return GetAttribute(machine, self, name->str());
}

constexpr Filter kFilters[] = {
    {"trim", 1, ",chars,", Trim},
    {"upper", 0, "", CaseFilter<Case::kUpper>},
    {"lower", 0, "", CaseFilter<Case::kLower>},
    {"capitalize", 0, "", CaseFilter<Case::kCapitalize>},
    {"title", 0, "", Title},
    {"replace", 3, ",old,new,count,", ReplaceFilter},
    {"default", 2, ",default_value,boolean,", Default},
    {"d", 2, ",default_value,boolean,", Default},
    {"length", 0, "", LengthFilter},
    {"count", 0, "", LengthFilter},
    {"string", 0, "", StringFilter},
    {"safe", 0, "", Identity},
    {"int", 2, ",default,base,", IntFilter},
    {"float", 1, ",default,", FloatFilter},
    {"abs", 0, "", Abs},
    {"round", 2, ",precision,method,", Round},
    {"indent", 3, ",width,first,blank,", Indent},
    {"tojson", 4, ",ensure_ascii,indent,separators,sort_keys,", ToJson},
    {"escape", 0, "", Escape},
    {"e", 0, "", Escape},
    {"attr", 1, ",name,", Attribute},
    {"map", -1, "", MapFilter},
    {"select", -1, "", SelectFilter},
    {"reject", -1, "", RejectFilter},
    {"selectattr", -1, "", SelectAttributeFilter},
    {"rejectattr", -1, "", RejectAttributeFilter},
    {"join", 2, ",d,attribute,", JoinFilter},
    {"sort", 3, ",reverse,case_sensitive,attribute,", SortFilter},
    {"dictsort", 3, ",case_sensitive,by,reverse,", DictSortFilter},
    {"unique", 2, ",case_sensitive,attribute,", UniqueFilter},
    {"reverse", 0, "", ReverseFilter},
    {"sum", 2, ",attribute,start,", SumFilter},
    {"min", 2, ",case_sensitive,attribute,", MinFilter},
    {"max", 2, ",case_sensitive,attribute,", MaxFilter},
    {"first", 0, "", FirstFilter},
    {"last", 0, "", LastFilter},
    {"list", 0, "", ListFilter},
    {"items", 0, "", ItemsFilter},
    {"batch", 2, ",linecount,fill_with,", BatchFilter},
    {"slice", 2, ",slices,fill_with,", SliceFilter},
    {"groupby", 3, ",attribute,default,case_sensitive,", GroupByFilter},
    {"format", -1, "", FormatFilter},
    {"center", 1, ",width,", CenterFilter},
    {"wordcount", 0, "", WordCountFilter},
    {"truncate", 4, ",length,killwords,end,leeway,", TruncateFilter},
    {"urlencode", 0, "", UrlEncodeFilter},
    {"forceescape", 0, "", Escape},
};

}  // namespace

const Filter* FindFilter(absl::string_view name) {
  const auto found = std::find_if(std::begin(kFilters), std::end(kFilters),
                                  [name](const Filter& filter) { return filter.name == name; });
  return found == std::end(kFilters) ? nullptr : found;
}

}  // namespace shoal::text::jinja
