// SPDX-License-Identifier: Apache-2.0
#include "text/jinja/string_literal.h"

#include <cstdint>

#include "absl/strings/ascii.h"
#include "absl/strings/numbers.h"
#include "text/utf8.h"

namespace shoal::text::jinja {
namespace {

char SimpleEscape(char c) {
  switch (c) {
    case 'n':
      return '\n';
    case 't':
      return '\t';
    case 'r':
      return '\r';
    case 'b':
      return '\b';
    case 'f':
      return '\f';
    case 'a':
      return '\a';
    case 'v':
      return '\v';
    case '\\':
    case '\'':
    case '"':
      return c;
    default:
      return '\0';
  }
}

}  // namespace

absl::StatusOr<std::string> UnescapeStringLiteral(absl::string_view raw) {
  std::string out;
  for (size_t i = 0; i < raw.size(); ++i) {
    if (raw[i] != '\\' || i + 1 >= raw.size()) {
      out.push_back(raw[i]);
      continue;
    }
    const char next = raw[++i];
    if (const char simple = SimpleEscape(next); simple != '\0') {
      out.push_back(simple);
    } else if (next == '\n') {
      continue;  // a line joined to the next
    } else if (next == 'x' || next == 'u' || next == 'U') {
      const size_t digits = next == 'x' ? 2 : next == 'u' ? 4 : 8;
      uint32_t code = 0;
      if (i + digits >= raw.size() || !absl::SimpleHexAtoi(raw.substr(i + 1, digits), &code) ||
          code > 0x10FFFF || (code >= 0xD800 && code < 0xE000)) {
        return absl::InvalidArgumentError("a string has a malformed \\x or \\u escape");
      }
      AppendUtf8(code, &out);
      i += digits;
    } else if (next >= '0' && next <= '7') {
      uint32_t code = 0;
      size_t end = i;
      for (; end < raw.size() && end < i + 3 && raw[end] >= '0' && raw[end] <= '7'; ++end) {
        code = code * 8 + static_cast<uint32_t>(raw[end] - '0');
      }
      AppendUtf8(code, &out);
      i = end - 1;
    } else {
      out.push_back('\\');
      out.push_back(next);
    }
  }
  return out;
}

}  // namespace shoal::text::jinja
