// SPDX-License-Identifier: Apache-2.0
#include "text/jinja/format.h"

#include <string>
#include <utility>

#include "absl/strings/ascii.h"
#include "absl/strings/match.h"
#include "absl/strings/numbers.h"
#include "base/status.h"
#include "text/jinja/format_field.h"
#include "text/jinja/operators.h"

namespace shoal::text::jinja {
namespace {

Text TextOf(const Value& value, bool repr) {
  TextBuilder text;
  if (repr) {
    AppendRepr(value, &text);
  } else {
    AppendStr(value, &text);
  }
  return text.Take();
}

class Percent {
 public:
  Percent(Machine& machine, const Value& format, const Value& values)
      : machine_(machine), format_(*format.text), values_(values) {}

  absl::StatusOr<Value> Run() {
    const absl::string_view text = format_.bytes;
    while (at_ < text.size()) {
      const size_t percent = std::min(text.find('%', at_), text.size());
      out_.Append(format_, at_, percent);
      at_ = percent + 1;
      if (percent == text.size()) break;
      SHOAL_RETURN_IF_ERROR(machine_.Work(1));
      SHOAL_RETURN_IF_ERROR(Field(text));
    }
    const bool several = values_.is(Kind::kList) && values_.list->tuple;
    const size_t given = several ? values_.list->items.size() : 1;
    if (used_ < given && !values_.is(Kind::kDict) && !named_) {
      return Fail("not all arguments converted during string formatting");
    }
    return machine_.arena.NewString(std::move(out_));
  }

 private:
  absl::StatusOr<Value> Next() {
    const bool several = values_.is(Kind::kList) && values_.list->tuple;
    if (used_ >= (several ? values_.list->items.size() : 1)) {
      return Fail("not enough arguments for format string");
    }
    ++used_;
    return several ? values_.list->items[used_ - 1] : values_;
  }

  absl::StatusOr<Value> Named(absl::string_view* rest) {
    const size_t end = rest->find(')');
    if (end == absl::string_view::npos) return Fail("incomplete format key");
    if (!values_.is(Kind::kDict)) return Fail("format requires a mapping");
    const absl::string_view name = rest->substr(1, end - 1);
    const Value* found = values_.dict->Find(name);
    if (found == nullptr) return Fail(absl::StrCat("format: no value named '", name, "'"));
    rest->remove_prefix(end + 1);
    named_ = true;
    return *found;
  }

  absl::Status Field(absl::string_view text) {
    absl::string_view rest = text.substr(at_);
    FieldSpec spec;
    spec.align = '>';
    std::optional<Value> value;
    if (absl::StartsWith(rest, "(")) {
      SHOAL_ASSIGN_OR_RETURN(value, Named(&rest));
    }
    bool zero = false;
    for (; !rest.empty() && absl::StrContains("-+ #0", rest.substr(0, 1)); rest.remove_prefix(1)) {
      const char flag = rest[0];
      if (flag == '-') spec.align = '<';
      if (flag == '+' || (flag == ' ' && spec.sign != '+')) spec.sign = flag;
      if (flag == '#') spec.alternate = true;
      if (flag == '0') zero = true;
    }
    SHOAL_ASSIGN_OR_RETURN(spec.width, TakeFieldNumber(&rest));
    if (absl::StartsWith(rest, ".")) {
      rest.remove_prefix(1);
      SHOAL_ASSIGN_OR_RETURN(spec.precision, TakeFieldNumber(&rest));
    }
    if (rest.empty()) return Fail("incomplete format");
    spec.type = rest[0];
    at_ = text.size() - rest.size() + 1;
    if (spec.type == '%') {
      out_.Append("%", false);
      return absl::OkStatus();
    }
    if (!value.has_value()) {
      SHOAL_ASSIGN_OR_RETURN(value, Next());
    }
    if (zero && spec.align == '>') spec.align = '=';
    return Write(*value, zero, spec);
  }

  absl::Status Write(const Value& value, bool zero, FieldSpec spec) {
    if (spec.type == 's' || spec.type == 'r' || (spec.type == 'c' && value.is(Kind::kString))) {
      if (spec.type == 'c' && Length(value) != 1) return Fail("%c requires int or char");
      if (spec.align == '=') spec.align = '>';
      return AppendTextField(TextOf(value, spec.type == 'r'), spec, &out_);
    }
    if (!absl::StrContains("diuoxXeEfFgGc", std::string(1, spec.type))) {
      return Fail(absl::StrCat("unsupported format character '", std::string(1, spec.type), "'"));
    }
    if (value.is(Kind::kUndefined)) return FailUndefined(value);
    if (!value.is_number()) {
      return Fail(absl::StrCat("%", std::string(1, spec.type),
                               " format: a number is required, not ", TypeName(value)));
    }
    Value number = value;
    if (absl::StrContains("diu", std::string(1, spec.type))) {
      spec.type = 'd';
      spec.precision = -1;
      if (value.is(Kind::kFloat)) {
        if (!(value.real > -9.2e18 && value.real < 9.2e18)) return Fail("%d: out of range");
        number = Value::Int(static_cast<int64_t>(value.real), value.user);
      }
    }
    if (zero && spec.align == '=') spec.fill = "0";
    if (spec.align == '=' && spec.fill != "0") spec.align = '>';
    return AppendNumberField(number, spec, &out_);
  }

  Machine& machine_;
  const Text& format_;
  const Value values_;
  TextBuilder out_;
  size_t at_ = 0;
  size_t used_ = 0;
  bool named_ = false;
};

class Brace {
 public:
  Brace(Machine& machine, const Value& format, const Arguments& arguments)
      : machine_(machine), format_(*format.text), arguments_(arguments) {}

  absl::StatusOr<Value> Run() {
    const absl::string_view text = format_.bytes;
    size_t at = 0;
    while (at < text.size()) {
      const size_t brace = std::min(text.find_first_of("{}", at), text.size());
      out_.Append(format_, at, brace);
      if (brace == text.size()) break;
      SHOAL_RETURN_IF_ERROR(machine_.Work(1));
      if (brace + 1 < text.size() && text[brace + 1] == text[brace]) {
        out_.Append(format_, brace, brace + 1);
        at = brace + 2;
        continue;
      }
      const size_t end = text.find_first_of("{}", brace + 1);
      if (text[brace] == '}') return Fail("single '}' in a format string");
      if (end == absl::string_view::npos) return Fail("expected '}' in a format string");
      if (text[end] == '{') return Fail("format: fields inside fields are not supported");
      SHOAL_RETURN_IF_ERROR(Field(text.substr(brace + 1, end - brace - 1)));
      at = end + 1;
    }
    return machine_.arena.NewString(std::move(out_));
  }

 private:
  absl::Status Field(absl::string_view field) {
    absl::string_view spec_text;
    if (const size_t colon = field.find(':'); colon != absl::string_view::npos) {
      spec_text = field.substr(colon + 1);
      field = field.substr(0, colon);
    }
    char conversion = '\0';
    if (const size_t mark = field.find('!'); mark != absl::string_view::npos) {
      const absl::string_view name = field.substr(mark + 1);
      if (name != "s" && name != "r") return Fail("format: a conversion is !s or !r");
      conversion = name[0];
      field = field.substr(0, mark);
    }
    SHOAL_ASSIGN_OR_RETURN(const Value value, Find(field));
    SHOAL_ASSIGN_OR_RETURN(const FieldSpec spec, ParseFieldSpec(spec_text));
    const bool text = conversion != '\0' || value.is(Kind::kString);
    if (text || spec_text.empty()) {
      const bool type_fits = spec.type == '\0' || spec.type == 's';
      if (!type_fits || spec.align == '=' || spec.comma) {
        return Fail("format: the specifier is not one for strings");
      }
      return AppendTextField(TextOf(value, conversion == 'r'), spec, &out_);
    }
    if (value.is(Kind::kUndefined)) return FailUndefined(value);
    if (!value.is_number() || spec.type == 's') {
      return Fail(absl::StrCat("format: unsupported specifier for ", TypeName(value)));
    }
    return AppendNumberField(value, spec, &out_);
  }

  // "name", "0" or "", then any ".attribute" and "[key]".
  absl::StatusOr<Value> Find(absl::string_view field) {
    size_t end = std::min(field.find_first_of(".["), field.size());
    SHOAL_ASSIGN_OR_RETURN(Value value, First(field.substr(0, end)));
    while (end < field.size()) {
      const bool item = field[end] == '[';
      const size_t start = end + 1;
      const size_t close = field.find_first_of(item ? "]" : ".[", start);
      if (item && close == absl::string_view::npos) return Fail("format: missing ']'");
      end = std::min(close, field.size());
      const absl::string_view name = field.substr(start, end - start);
      if (name.empty()) return Fail("format: an empty attribute");
      int64_t index = 0;
      const bool number = item && absl::SimpleAtoi(name, &index);
      const Value key = number ? Value::Int(index) : machine_.arena.NewString(name, false);
      SHOAL_ASSIGN_OR_RETURN(value, GetItem(machine_, value, key));
      if (item) ++end;
    }
    return value;
  }

  absl::StatusOr<Value> First(absl::string_view name) {
    size_t index = 0;
    if (name.empty()) {
      index = automatic_++;
    } else if (!absl::ascii_isdigit(name[0])) {
      const Value* found = arguments_.Get(SIZE_MAX, name);
      if (found == nullptr) return Fail(absl::StrCat("format: no value named '", name, "'"));
      return *found;
    } else if (!absl::SimpleAtoi(name, &index)) {
      return Fail("format: a malformed index");
    }
    if (index >= arguments_.positional.size()) {
      return Fail(absl::StrCat("format: there is no argument ", index));
    }
    return arguments_.positional[index];
  }

  Machine& machine_;
  const Text& format_;
  const Arguments& arguments_;
  TextBuilder out_;
  size_t automatic_ = 0;
};

}  // namespace

absl::StatusOr<Value> PercentFormat(Machine& machine, const Value& format, const Value& values) {
  return Percent(machine, format, values).Run();
}

absl::StatusOr<Value> BraceFormat(Machine& machine, const Value& format,
                                  const Arguments& arguments) {
  return Brace(machine, format, arguments).Run();
}

}  // namespace shoal::text::jinja
