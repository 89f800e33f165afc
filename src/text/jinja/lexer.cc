// SPDX-License-Identifier: Apache-2.0
#include "text/jinja/lexer.h"

#include <algorithm>
#include <utility>

#include "absl/strings/ascii.h"
#include "absl/strings/match.h"
#include "absl/strings/numbers.h"
#include "base/status.h"
#include "text/jinja/string_literal.h"
#include "text/utf8.h"

namespace shoal::text::jinja {
namespace {

constexpr size_t kNpos = absl::string_view::npos;

// One newline convention, and none at the very end.
std::string NormalizeNewlines(absl::string_view source) {
  std::string out;
  out.reserve(source.size());
  for (size_t i = 0; i < source.size(); ++i) {
    if (source[i] != '\r') {
      out.push_back(source[i]);
      continue;
    }
    out.push_back('\n');
    if (i + 1 < source.size() && source[i + 1] == '\n') ++i;
  }
  if (!out.empty() && out.back() == '\n') out.pop_back();
  return out;
}

size_t SkipSpace(absl::string_view text, size_t position) {
  while (position < text.size()) {
    const Utf8Step step = StepUtf8(text, position);
    if (step.kind != Utf8Kind::kCharacter || !IsUnicodeSpace(step.code)) break;
    position += step.length;
  }
  return position;
}

absl::string_view StripRight(absl::string_view text) {
  size_t end = text.size();
  while (end > 0) {
    size_t start = end - 1;
    while (start > 0 && (static_cast<uint8_t>(text[start]) & 0xC0) == 0x80) --start;
    if (!IsUnicodeSpace(StepUtf8(text, start).code)) break;
    end = start;
  }
  return text.substr(0, end);
}

class Lexer {
 public:
  explicit Lexer(absl::string_view source) : source_(source) {}

  absl::StatusOr<std::vector<Token>> Run() {
    while (position_ < source_.size()) {
      const size_t begin = NextTag();
      if (begin == kNpos) {
        PushData(source_.substr(position_));
        AdvanceTo(source_.size());
        break;
      }
      SHOAL_RETURN_IF_ERROR(Tag(begin));
    }
    Push(Token::Type::kEnd);
    return std::move(tokens_);
  }

 private:
  size_t NextTag() const {
    for (size_t at = source_.find('{', position_); at != kNpos; at = source_.find('{', at + 1)) {
      if (at + 1 < source_.size() && absl::StrContains("{%#", source_.substr(at + 1, 1))) return at;
    }
    return kNpos;
  }

  void AdvanceTo(size_t position) {
    line_ +=
        static_cast<int>(std::count(source_.begin() + position_, source_.begin() + position, '\n'));
    position_ = position;
  }

  void Push(Token::Type type, absl::string_view text = "") {
    Token token;
    token.type = type;
    token.text = std::string(text);
    token.line = line_;
    tokens_.push_back(std::move(token));
  }

  void PushData(absl::string_view text) {
    if (!text.empty()) Push(Token::Type::kData, text);
  }

  // The text before a tag, stripped as the tag's sign and kind ask.
  absl::string_view BeforeTag(size_t begin, char sign, bool variable) const {
    absl::string_view text = source_.substr(position_, begin - position_);
    if (sign == '-') return StripRight(text);
    if (sign == '+' || variable) return text;
    const size_t newline = text.rfind('\n');
    const size_t line_start = newline == kNpos ? 0 : newline + 1;
    const bool at_line_start = newline != kNpos || position_ == 0 || source_[position_ - 1] == '\n';
    if (at_line_start && SkipSpace(text, line_start) == text.size())
      text = text.substr(0, line_start);
    return text;
  }

  absl::Status Tag(size_t begin) {
    const char kind = source_[begin + 1];
    char sign = begin + 2 < source_.size() ? source_[begin + 2] : '\0';
    if (sign != '-' && (sign != '+' || kind == '{')) sign = '\0';
    PushData(BeforeTag(begin, sign, kind == '{'));
    AdvanceTo(begin + (sign == '\0' ? 2 : 3));
    if (kind == '#') return Comment();
    if (kind == '%') {
      const size_t raw_end = RawTagEnd(position_, "raw");
      if (raw_end != kNpos) return Raw(raw_end);
    }
    Push(kind == '{' ? Token::Type::kVariableBegin : Token::Type::kBlockBegin);
    return Inside(kind == '{' ? "}}" : "%}", kind == '{');
  }

  // Steps over a tag's end of `length` bytes (its sign included) and the whitespace it eats.
  void EndTag(size_t end, size_t length, bool variable) {
    const char sign = source_[end];
    size_t next = end + length;
    if (sign == '-') {
      next = SkipSpace(source_, next);
    } else if (!variable && sign != '+' && next < source_.size() && source_[next] == '\n') {
      ++next;
    }
    AdvanceTo(next);
  }

  absl::Status Comment() {
    const int line = line_;
    size_t end = source_.find("#}", position_);
    if (end == kNpos) return TemplateError(line, "this comment never ends");
    size_t length = 2;
    if (end > position_ && (source_[end - 1] == '-' || source_[end - 1] == '+')) {
      --end;
      ++length;
    }
    EndTag(end, length, /*variable=*/false);
    return absl::OkStatus();
  }

  // Where a tag that is just `word` ends its word, or kNpos: "  raw -%}".
  size_t RawTagEnd(size_t at, absl::string_view word) const {
    at = SkipSpace(source_, at);
    if (source_.substr(at, word.size()) != word) return kNpos;
    at = SkipSpace(source_, at + word.size());
    const absl::string_view rest = source_.substr(at, 3);
    const bool ends = absl::StartsWith(rest, "%}") || rest == "-%}" || rest == "+%}";
    return ends ? at : kNpos;
  }

  absl::Status Raw(size_t raw_end) {
    const int line = line_;
    EndTag(raw_end, source_[raw_end] == '%' ? 2 : 3, /*variable=*/false);
    for (size_t at = source_.find("{%", position_); at != kNpos; at = source_.find("{%", at + 2)) {
      char sign = at + 2 < source_.size() ? source_[at + 2] : '\0';
      if (sign != '-' && sign != '+') sign = '\0';
      const size_t end = RawTagEnd(at + (sign == '\0' ? 2 : 3), "endraw");
      if (end == kNpos) continue;
      PushData(BeforeTag(at, sign, /*variable=*/false));
      AdvanceTo(end);
      EndTag(end, source_[end] == '%' ? 2 : 3, /*variable=*/false);
      return absl::OkStatus();
    }
    return TemplateError(line, "'raw' without 'endraw'");
  }

  absl::Status Inside(absl::string_view close, bool variable) {
    const int line = line_;
    int braces = 0;
    while (true) {
      AdvanceTo(SkipSpace(source_, position_));
      if (position_ >= source_.size()) return TemplateError(line, "this tag never ends");
      const absl::string_view rest = source_.substr(position_);
      const bool sign = rest[0] == '-' || (rest[0] == '+' && !variable);
      if (braces == 0 && absl::StartsWith(sign ? rest.substr(1) : rest, close)) {
        Push(variable ? Token::Type::kVariableEnd : Token::Type::kBlockEnd);
        EndTag(position_, close.size() + (sign ? 1 : 0), variable);
        return absl::OkStatus();
      }
      if (rest[0] == '"' || rest[0] == '\'') {
        SHOAL_RETURN_IF_ERROR(StringLiteral());
      } else if (absl::ascii_isdigit(rest[0])) {
        SHOAL_RETURN_IF_ERROR(Number());
      } else if (absl::ascii_isalpha(rest[0]) || rest[0] == '_') {
        size_t end = position_;
        while (end < source_.size() && (absl::ascii_isalnum(source_[end]) || source_[end] == '_')) {
          ++end;
        }
        Push(Token::Type::kName, source_.substr(position_, end - position_));
        AdvanceTo(end);
      } else {
        SHOAL_RETURN_IF_ERROR(Operator(&braces));
      }
    }
  }

  absl::Status Operator(int* braces) {
    static constexpr absl::string_view kOperators[] = {
        "**", "//", "==", "!=", "<=", ">=", "+", "-", "*", "/", "%", "~", "<",
        ">",  "=",  "(",  ")",  "[",  "]",  "{", "}", ",", ":", ".", "|", ";"};
    for (const absl::string_view op : kOperators) {
      if (!absl::StartsWith(source_.substr(position_), op)) continue;
      if (op == "{") ++*braces;
      if (op == "}") --*braces;
      Push(Token::Type::kOperator, op);
      AdvanceTo(position_ + op.size());
      return absl::OkStatus();
    }
    return TemplateError(line_,
                         absl::StrCat("unexpected character '", source_.substr(position_, 1), "'"));
  }

  absl::Status StringLiteral() {
    const char quote = source_[position_];
    size_t end = position_ + 1;
    while (end < source_.size() && source_[end] != quote) end += source_[end] == '\\' ? 2 : 1;
    if (end >= source_.size()) return TemplateError(line_, "this string never ends");
    const absl::string_view raw = source_.substr(position_ + 1, end - position_ - 1);
    auto text = UnescapeStringLiteral(raw);
    if (!text.ok()) return TemplateError(line_, text.status().message());
    Push(Token::Type::kString, *text);
    AdvanceTo(end + 1);
    return absl::OkStatus();
  }

  absl::Status Number() {
    size_t end = position_;
    bool real = false;
    const auto digits = [&] {
      while (end < source_.size() && (absl::ascii_isdigit(source_[end]) || source_[end] == '_')) {
        ++end;
      }
    };
    const auto digit_at = [&](size_t at) {
      return at < source_.size() && absl::ascii_isdigit(source_[at]);
    };
    digits();
    if (end < source_.size() && source_[end] == '.' && digit_at(end + 1)) {
      real = true;
      ++end;
      digits();
    }
    if (end < source_.size() && (source_[end] == 'e' || source_[end] == 'E')) {
      const bool sign =
          end + 1 < source_.size() && absl::StrContains("+-", source_.substr(end + 1, 1));
      if (digit_at(end + (sign ? 2 : 1))) {
        real = true;
        end += sign ? 2 : 1;
        digits();
      }
    }
    std::string text(source_.substr(position_, end - position_));
    text.erase(std::remove(text.begin(), text.end(), '_'), text.end());
    Push(real ? Token::Type::kFloat : Token::Type::kInt, text);
    const bool read = real ? absl::SimpleAtod(text, &tokens_.back().real)
                           : absl::SimpleAtoi(text, &tokens_.back().integer);
    if (!read) return TemplateError(line_, absl::StrCat("the number ", text, " is out of range"));
    AdvanceTo(end);
    return absl::OkStatus();
  }

  absl::string_view source_;
  size_t position_ = 0;
  int line_ = 1;
  std::vector<Token> tokens_;
};

}  // namespace

absl::Status TemplateError(int line, absl::string_view what) {
  return absl::InvalidArgumentError(absl::StrCat("chat template, line ", line, ": ", what));
}

absl::StatusOr<std::vector<Token>> Lex(absl::string_view source) {
  if (FindIllFormed(source) != absl::string_view::npos) {
    return absl::InvalidArgumentError("chat template: not valid UTF-8");
  }
  const std::string normalized = NormalizeNewlines(source);
  return Lexer(normalized).Run();
}

}  // namespace shoal::text::jinja
