// SPDX-License-Identifier: Apache-2.0
#include "text/jinja/format_field.h"

#include <algorithm>
#include <cctype>
#include <cmath>
#include <cstdio>

#include "absl/strings/ascii.h"
#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "base/status.h"
#include "text/utf8.h"

namespace shoal::text::jinja {
namespace {

constexpr int kNumberMax = 1000;  // of widths and precisions
constexpr absl::string_view kAligns = "<>^=";

void Repeat(absl::string_view fill, int64_t times, TextBuilder* out) {
  for (int64_t i = 0; i < times; ++i) out->Append(fill, false);
}

std::string Digits(uint64_t magnitude, unsigned base, bool upper) {
  std::string digits;
  do {
    const unsigned digit = static_cast<unsigned>(magnitude % base);
    digits.push_back(
        static_cast<char>(digit < 10 ? '0' + digit : (upper ? 'A' : 'a') + digit - 10));
    magnitude /= base;
  } while (magnitude > 0);
  std::reverse(digits.begin(), digits.end());
  return digits;
}

void InsertCommas(std::string* digits) {
  size_t end = 0;
  while (end < digits->size() && absl::ascii_isdigit((*digits)[end])) ++end;
  while (end > 3) {
    end -= 3;
    digits->insert(end, 1, ',');
  }
}

// A number without its sign.
struct Parts {
  std::string prefix;
  std::string digits;
  bool negative = false;
};

Parts FromInteger(int64_t value, const FieldSpec& spec) {
  Parts parts;
  parts.negative = value < 0;
  const uint64_t magnitude =
      value < 0 ? ~static_cast<uint64_t>(value) + 1 : static_cast<uint64_t>(value);
  const char type = static_cast<char>(std::tolower(spec.type));
  const unsigned base = type == 'x' ? 16 : type == 'o' ? 8 : type == 'b' ? 2 : 10;
  parts.digits = Digits(magnitude, base, spec.type == 'X');
  if (spec.alternate && base != 10) parts.prefix = {'0', spec.type};
  return parts;
}

Parts FromReal(double value, const FieldSpec& spec) {
  Parts parts;
  parts.negative = std::signbit(value) && !std::isnan(value);
  const double magnitude = std::fabs(value);
  if (spec.type == '\0' && spec.precision < 0) {
    parts.digits = FloatRepr(magnitude);
    return parts;
  }
  const bool percent = spec.type == '%';
  const char type = percent ? 'f' : spec.type == '\0' ? 'g' : spec.type;
  const int precision = spec.precision < 0 ? 6 : spec.precision;
  const char format[] = {'%', '.', '*', type, '\0'};
  char buffer[kNumberMax + 400];
  std::snprintf(buffer, sizeof(buffer), format, precision, percent ? magnitude * 100 : magnitude);
  parts.digits = buffer;
  const bool whole = parts.digits.find_first_not_of("0123456789") == std::string::npos;
  if (spec.type == '\0' && whole) parts.digits += ".0";
  if (percent) parts.digits += '%';
  return parts;
}

}  // namespace

absl::StatusOr<int> TakeFieldNumber(absl::string_view* text) {
  int number = 0;
  while (!text->empty() && absl::ascii_isdigit(text->front())) {
    number = number * 10 + (text->front() - '0');
    if (number > kNumberMax) return Fail(absl::StrCat("format: a width exceeds ", kNumberMax));
    text->remove_prefix(1);
  }
  return number;
}

absl::StatusOr<FieldSpec> ParseFieldSpec(absl::string_view text) {
  FieldSpec spec;
  const size_t first = text.empty() ? 0 : StepUtf8(text, 0).length;
  const auto align_at = [&](size_t at) {
    return at < text.size() && kAligns.find(text[at]) != absl::string_view::npos;
  };
  if (first > 0 && align_at(first)) {
    spec.fill = text.substr(0, first);
    spec.align = text[first];
    text.remove_prefix(first + 1);
  } else if (align_at(0)) {
    spec.align = text[0];
    text.remove_prefix(1);
  }
  const auto take = [&text](char c) {
    const bool here = !text.empty() && text[0] == c;
    if (here) text.remove_prefix(1);
    return here;
  };
  for (const char sign : {'+', '-', ' '}) {
    if (take(sign)) {
      spec.sign = sign;
      break;
    }
  }
  spec.alternate = take('#');
  if (take('0') && spec.align == '\0') {
    spec.fill = "0";
    spec.align = '=';
  }
  SHOAL_ASSIGN_OR_RETURN(spec.width, TakeFieldNumber(&text));
  spec.comma = take(',');
  if (take('.')) {
    if (text.empty() || !absl::ascii_isdigit(text[0]))
      return Fail("format: no precision after '.'");
    SHOAL_ASSIGN_OR_RETURN(spec.precision, TakeFieldNumber(&text));
  }
  if (!text.empty()) {
    spec.type = text[0];
    text.remove_prefix(1);
  }
  const bool known =
      spec.type == '\0' || absl::StrContains("sdbcoxXeEfFgG%", std::string(1, spec.type));
  if (!text.empty() || !known) return Fail("format: an invalid format specifier");
  return spec;
}

absl::Status AppendTextField(const Text& text, const FieldSpec& spec, TextBuilder* out) {
  size_t end = text.bytes.size();
  int64_t characters = 0;
  for (size_t at = 0; at < text.bytes.size(); ++characters) {
    if (spec.precision >= 0 && characters == spec.precision) {
      end = at;
      break;
    }
    at += StepUtf8(text.bytes, at).length;
  }
  const int64_t padding = std::max<int64_t>(spec.width - characters, 0);
  const int64_t left = spec.align == '>' ? padding : spec.align == '^' ? padding / 2 : 0;
  Repeat(spec.fill, left, out);
  out->Append(text, 0, end);
  Repeat(spec.fill, padding - left, out);
  return absl::OkStatus();
}

absl::Status AppendNumberField(const Value& value, const FieldSpec& spec, TextBuilder* out) {
  const bool real_type = absl::StrContains("eEfFgG%", std::string(1, spec.type));
  const bool real = spec.type == '\0' ? value.is(Kind::kFloat) : real_type;
  if (!real && value.is(Kind::kFloat)) return Fail("format: an integer is needed");
  if (!real && spec.precision >= 0) return Fail("format: an integer has no precision");
  Parts parts;
  if (spec.type == 'c') {
    const int64_t code = value.as_int();
    if (code < 0 || code > 0x10FFFF || (code >= 0xD800 && code < 0xE000)) {
      return Fail("format: not a character");
    }
    AppendUtf8(static_cast<uint32_t>(code), &parts.digits);
  } else {
    parts = real ? FromReal(value.as_double(), spec) : FromInteger(value.as_int(), spec);
  }
  if (spec.comma) InsertCommas(&parts.digits);
  std::string head;
  if (parts.negative || spec.sign != '-') head.push_back(parts.negative ? '-' : spec.sign);
  head += parts.prefix;
  const int64_t length =
      static_cast<int64_t>(CountCharacters(parts.digits)) + static_cast<int64_t>(head.size());
  const int64_t padding = std::max<int64_t>(spec.width - length, 0);
  const char align = spec.align == '\0' ? '>' : spec.align;
  const int64_t left = align == '>' ? padding : align == '^' ? padding / 2 : 0;
  Repeat(spec.fill, left, out);
  out->Append(head, value.user);
  if (align == '=') Repeat(spec.fill, padding, out);
  out->Append(parts.digits, value.user);
  if (align != '=') Repeat(spec.fill, padding - left, out);
  return absl::OkStatus();
}

}  // namespace shoal::text::jinja
