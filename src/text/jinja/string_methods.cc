// SPDX-License-Identifier: Apache-2.0
#include "text/jinja/string_methods.h"

#include <utf8proc.h>

#include <algorithm>
#include <string>
#include <utility>

#include "base/status.h"
#include "text/jinja/strings.h"
#include "text/utf8.h"

namespace shoal::text::jinja {
namespace {

using Result = absl::StatusOr<Value>;

constexpr int64_t kWidthMax = 1000;

utf8proc_category_t Category(uint32_t code) {
  return utf8proc_category(static_cast<utf8proc_int32_t>(code));
}

// The byte at which character `index` starts; one past the end for what lies behind it.
size_t ByteOf(absl::string_view text, int64_t index) {
  size_t at = 0;
  for (; index > 0 && at < text.size(); --index) at += StepUtf8(text, at).length;
  return index > 0 ? text.size() + 1 : at;
}

// A bound as Python's slices take it, in bytes.
absl::StatusOr<size_t> Bound(const Value& self, const Arguments& arguments, size_t index,
                             size_t missing) {
  const Value* bound = arguments.Get(index, "");
  if (bound == nullptr || bound->is(Kind::kNone)) return missing;
  if (!bound->is(Kind::kInt)) return Fail("slice indices must be integers or None");
  const int64_t from = bound->integer;
  return ByteOf(self.str(), from < 0 ? std::max<int64_t>(from + Length(self), 0) : from);
}

Result Search(Machine& machine, const Value& self, const Arguments& arguments, bool last) {
  const Value* part = arguments.Get(0, "");
  if (part == nullptr || !part->is(Kind::kString)) return Fail("expected a string argument");
  SHOAL_RETURN_IF_ERROR(machine.Work(static_cast<int64_t>(self.str().size() / 64)));
  SHOAL_ASSIGN_OR_RETURN(const size_t begin, Bound(self, arguments, 1, 0));
  SHOAL_ASSIGN_OR_RETURN(const size_t end, Bound(self, arguments, 2, self.str().size()));
  if (begin > end || begin > self.str().size()) return Value::Int(-1);
  const absl::string_view text = absl::string_view(self.str()).substr(begin, end - begin);
  const size_t at = last ? text.rfind(part->str()) : text.find(part->str());
  if (at == absl::string_view::npos) return Value::Int(-1);
  const absl::string_view before = absl::string_view(self.str()).substr(0, begin + at);
  return Value::Int(static_cast<int64_t>(CountCharacters(before)));
}

Result MustFind(Result found) {
  if (found.ok() && found->integer < 0) return Fail("substring not found");
  return found;
}

struct Padding {
  absl::string_view fill = " ";
  int64_t length = 0;
};

absl::StatusOr<Padding> PaddingOf(const Value& self, const Arguments& arguments) {
  const Value* width = arguments.Get(0, "width");
  const Value* fill = arguments.Get(1, "fillchar");
  if (width == nullptr || !width->is(Kind::kInt)) return Fail("expected an integer width");
  if (width->integer > kWidthMax) return Fail(absl::StrCat("a width exceeds ", kWidthMax));
  Padding padding;
  padding.length = std::max<int64_t>(width->integer - Length(self), 0);
  if (fill == nullptr) return padding;
  if (!fill->is(Kind::kString) || Length(*fill) != 1 || HasUser(*fill)) {
    return Fail("the fill must be one character");
  }
  padding.fill = fill->str();
  return padding;
}

Value Pad(Machine& machine, const Value& self, const Padding& padding, int64_t left) {
  TextBuilder out;
  for (int64_t i = 0; i < left; ++i) out.Append(padding.fill, false);
  out.Append(*self.text);
  for (int64_t i = left; i < padding.length; ++i) out.Append(padding.fill, false);
  return machine.arena.NewString(std::move(out));
}

// At least one letter with a case, and none of the other case.
bool AllCase(absl::string_view text, bool upper) {
  bool any = false;
  for (size_t at = 0; at < text.size();) {
    const Utf8Step step = StepUtf8(text, at);
    const utf8proc_category_t category = Category(step.code);
    const bool is_upper = category == UTF8PROC_CATEGORY_LU;
    const bool is_lower = category == UTF8PROC_CATEGORY_LL;
    if (category == UTF8PROC_CATEGORY_LT || (upper ? is_lower : is_upper)) return false;
    any = any || is_upper || is_lower;
    at += step.length;
  }
  return any;
}

}  // namespace

Result FindMethod(Machine& machine, const Value& self, const Arguments& arguments) {
  return Search(machine, self, arguments, /*last=*/false);
}

Result RightFindMethod(Machine& machine, const Value& self, const Arguments& arguments) {
  return Search(machine, self, arguments, /*last=*/true);
}

Result IndexMethod(Machine& machine, const Value& self, const Arguments& arguments) {
  return MustFind(Search(machine, self, arguments, /*last=*/false));
}

Result RightIndexMethod(Machine& machine, const Value& self, const Arguments& arguments) {
  return MustFind(Search(machine, self, arguments, /*last=*/true));
}

Result CenterMethod(Machine& machine, const Value& self, const Arguments& arguments) {
  SHOAL_ASSIGN_OR_RETURN(const Padding padding, PaddingOf(self, arguments));
  // Python puts the odd space left when the width is odd.
  const int64_t width = padding.length + Length(self);
  return Pad(machine, self, padding, padding.length / 2 + (padding.length & width & 1));
}

Result LeftJustifyMethod(Machine& machine, const Value& self, const Arguments& arguments) {
  SHOAL_ASSIGN_OR_RETURN(const Padding padding, PaddingOf(self, arguments));
  return Pad(machine, self, padding, 0);
}

Result RightJustifyMethod(Machine& machine, const Value& self, const Arguments& arguments) {
  SHOAL_ASSIGN_OR_RETURN(const Padding padding, PaddingOf(self, arguments));
  return Pad(machine, self, padding, padding.length);
}

Result ZeroFillMethod(Machine& machine, const Value& self, const Arguments& arguments) {
  SHOAL_ASSIGN_OR_RETURN(Padding padding, PaddingOf(self, arguments));
  padding.fill = "0";
  const std::string& text = self.str();
  const size_t sign = !text.empty() && (text[0] == '-' || text[0] == '+') ? 1 : 0;
  TextBuilder out;
  out.Append(*self.text, 0, sign);
  const Value rest = Part(machine, self, sign, text.size());
  out.Append(*Pad(machine, rest, padding, padding.length).text);
  return machine.arena.NewString(std::move(out));
}

Result SwapCaseMethod(Machine& machine, const Value& self, const Arguments&) {
  TextBuilder out;
  for (size_t at = 0; at < self.str().size();) {
    const Utf8Step step = StepUtf8(self.str(), at);
    const bool upper = Category(step.code) == UTF8PROC_CATEGORY_LU;
    const Value one = Part(machine, self, at, at + step.length);
    out.Append(*ChangeCase(machine, one, upper ? Case::kLower : Case::kUpper).text);
    at += step.length;
  }
  SHOAL_RETURN_IF_ERROR(machine.Work(static_cast<int64_t>(self.str().size())));
  return machine.arena.NewString(std::move(out));
}

Result IsUpperMethod(Machine&, const Value& self, const Arguments&) {
  return Value::Bool(AllCase(self.str(), /*upper=*/true));
}

Result IsLowerMethod(Machine&, const Value& self, const Arguments&) {
  return Value::Bool(AllCase(self.str(), /*upper=*/false));
}

bool IsAlpha(uint32_t code) {
  const utf8proc_category_t category = Category(code);
  return category >= UTF8PROC_CATEGORY_LU && category <= UTF8PROC_CATEGORY_LO;
}

bool IsDecimal(uint32_t code) { return Category(code) == UTF8PROC_CATEGORY_ND; }

bool IsNumeric(uint32_t code) {
  const utf8proc_category_t category = Category(code);
  return category >= UTF8PROC_CATEGORY_ND && category <= UTF8PROC_CATEGORY_NO;
}

bool IsAlphaOrNumeric(uint32_t code) { return IsAlpha(code) || IsNumeric(code); }

}  // namespace shoal::text::jinja
