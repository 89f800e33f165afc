// SPDX-License-Identifier: Apache-2.0
#include "text/jinja/string_filters.h"

#include <string>
#include <utility>

#include "absl/strings/ascii.h"
#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "base/status.h"
#include "text/jinja/format.h"
#include "text/jinja/operators.h"
#include "text/jinja/string_methods.h"
#include "text/jinja/strings.h"
#include "text/utf8.h"

namespace shoal::text::jinja {
namespace {

using Result = absl::StatusOr<Value>;

absl::StatusOr<int64_t> IntegerOr(const Value* value, int64_t missing) {
  if (value == nullptr || value->is(Kind::kNone)) return missing;
  if (!value->is(Kind::kInt)) return Fail("expected an integer argument");
  return value->integer;
}

void AppendQuoted(const std::string& text, bool user, TextBuilder* out) {
  std::string quoted;
  for (const char c : text) {
    if (absl::ascii_isalnum(c) || absl::StrContains("_.-~/", std::string(1, c))) {
      quoted.push_back(c);
    } else {
      const std::string hex = absl::StrCat(absl::Hex(static_cast<uint8_t>(c), absl::kZeroPad2));
      absl::StrAppend(&quoted, "%", absl::AsciiStrToUpper(hex));
    }
  }
  out->Append(quoted, user);
}

}  // namespace

Result FormatFilter(Machine& machine, const Value& self, const Arguments& arguments) {
  if (!arguments.positional.empty() && !arguments.named.empty()) {
    return Fail("format takes positional or keyword arguments, not both");
  }
  const Value format = ToString(machine, self);
  if (arguments.named.empty()) {
    return PercentFormat(machine, format,
                         machine.arena.NewList(arguments.positional, /*tuple=*/true));
  }
  const Value values = machine.arena.NewDict();
  for (const auto& [name, value] : arguments.named) {
    values.dict->Set(machine.arena.NewString(name, arguments.user_names), value);
  }
  return PercentFormat(machine, format, values);
}

Result CenterFilter(Machine& machine, const Value& self, const Arguments& arguments) {
  const Value* width = arguments.Get(0, "width");
  Arguments method;
  method.positional.push_back(width == nullptr ? Value::Int(80) : *width);
  return CenterMethod(machine, ToString(machine, self), method);
}

Result WordCountFilter(Machine& machine, const Value& self, const Arguments&) {
  const Value text = ToString(machine, self);
  SHOAL_RETURN_IF_ERROR(machine.Work(static_cast<int64_t>(text.str().size() / 16)));
  int64_t words = 0;
  bool inside = false;
  for (size_t at = 0; at < text.str().size();) {
    const Utf8Step step = StepUtf8(text.str(), at);
    const bool word = step.code == '_' || IsAlphaOrNumeric(step.code);
    if (word && !inside) ++words;
    inside = word;
    at += step.length;
  }
  return Value::Int(words, HasUser(text));
}

Result TruncateFilter(Machine& machine, const Value& self, const Arguments& arguments) {
  SHOAL_ASSIGN_OR_RETURN(const int64_t length, IntegerOr(arguments.Get(0, "length"), 255));
  SHOAL_ASSIGN_OR_RETURN(const int64_t leeway, IntegerOr(arguments.Get(3, "leeway"), 5));
  const Value* kill = arguments.Get(1, "killwords");
  const Value* given_end = arguments.Get(2, "end");
  const Value end = given_end == nullptr ? machine.arena.NewString("...", false) : *given_end;
  if (!end.is(Kind::kString)) return Fail("truncate's end must be a string");
  if (length < Length(end)) {
    return Fail(absl::StrCat("truncate: expected length >= ", Length(end), ", got ", length));
  }
  if (leeway < 0) return Fail("truncate: expected leeway >= 0");
  const Value text = ToString(machine, self);
  if (Length(text) - leeway <= length) return text;
  SHOAL_ASSIGN_OR_RETURN(Value kept, Slice(machine, text, Value::None(),
                                           Value::Int(length - Length(end)), Value::None()));
  if (kill == nullptr || !Truth(*kill)) {
    const size_t space = kept.str().rfind(' ');
    if (space != std::string::npos) kept = Part(machine, kept, 0, space);
  }
  return Arithmetic(machine, "~", kept, end);
}

Result UrlEncodeFilter(Machine& machine, const Value& self, const Arguments&) {
  if (self.is(Kind::kList) || self.is(Kind::kDict)) {
    return Fail("urlencode takes a string or a number");
  }
  const Value text = ToString(machine, self);
  TextBuilder out;
  AppendQuoted(text.str(), HasUser(text), &out);
  return machine.arena.NewString(std::move(out));
}

}  // namespace shoal::text::jinja
