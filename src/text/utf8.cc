// SPDX-License-Identifier: Apache-2.0
#include "text/utf8.h"

#include <algorithm>

namespace shoal::text {
namespace {

struct Lead {
  int length = 0;  // 0: no character starts with this byte
  uint8_t low = 0x80;
  uint8_t high = 0xBF;  // what the second byte may be
};

Lead Classify(uint8_t byte) {
  if (byte < 0x80) return {.length = 1};
  if (byte < 0xC2) return {.length = 0};
  if (byte < 0xE0) return {.length = 2};
  if (byte == 0xE0) return {.length = 3, .low = 0xA0};
  if (byte == 0xED) return {.length = 3, .high = 0x9F};
  if (byte < 0xF0) return {.length = 3};
  if (byte == 0xF0) return {.length = 4, .low = 0x90};
  if (byte < 0xF4) return {.length = 4};
  if (byte == 0xF4) return {.length = 4, .high = 0x8F};
  return {.length = 0};
}

}  // namespace

Utf8Step StepUtf8(absl::string_view text, size_t position) {
  const uint8_t first = static_cast<uint8_t>(text[position]);
  if (first < 0x80) return {.kind = Utf8Kind::kCharacter, .code = first, .length = 1};
  const Lead lead = Classify(first);
  if (lead.length == 0) return {.kind = Utf8Kind::kIllFormed, .length = 1};
  uint32_t code = first & (0xFFu >> (lead.length + 1));
  for (int i = 1; i < lead.length; ++i) {
    if (position + i >= text.size()) return {.kind = Utf8Kind::kIncomplete, .length = i};
    const uint8_t next = static_cast<uint8_t>(text[position + i]);
    const uint8_t low = i == 1 ? lead.low : 0x80;
    const uint8_t high = i == 1 ? lead.high : 0xBF;
    if (next < low || next > high) return {.kind = Utf8Kind::kIllFormed, .length = i};
    code = (code << 6) | (next & 0x3Fu);
  }
  return {.kind = Utf8Kind::kCharacter, .code = code, .length = lead.length};
}

size_t FindIllFormed(absl::string_view text) {
  size_t position = 0;
  while (position < text.size()) {
    if (static_cast<uint8_t>(text[position]) < 0x80) {
      ++position;
      continue;
    }
    const Utf8Step step = StepUtf8(text, position);
    if (step.kind != Utf8Kind::kCharacter) return position;
    position += step.length;
  }
  return absl::string_view::npos;
}

void AppendReplacingIllFormed(absl::string_view text, std::string* out) {
  size_t position = 0;
  while (position < text.size()) {
    const Utf8Step step = StepUtf8(text, position);
    if (step.kind == Utf8Kind::kCharacter) {
      out->append(text.data() + position, step.length);
    } else {
      out->append("\xEF\xBF\xBD");
    }
    position += step.length;
  }
}

void AppendUtf8(uint32_t code, std::string* out) {
  const auto push = [out](uint32_t byte) { out->push_back(static_cast<char>(byte)); };
  if (code < 0x80) {
    push(code);
  } else if (code < 0x800) {
    push(0xC0 | (code >> 6));
    push(0x80 | (code & 0x3F));
  } else if (code < 0x10000) {
    push(0xE0 | (code >> 12));
    push(0x80 | ((code >> 6) & 0x3F));
    push(0x80 | (code & 0x3F));
  } else {
    push(0xF0 | (code >> 18));
    push(0x80 | ((code >> 12) & 0x3F));
    push(0x80 | ((code >> 6) & 0x3F));
    push(0x80 | (code & 0x3F));
  }
}

size_t CountCharacters(absl::string_view text) {
  return std::count_if(text.begin(), text.end(),
                       [](char c) { return (static_cast<uint8_t>(c) & 0xC0) != 0x80; });
}

bool IsUnicodeSpace(uint32_t code) {
  if (code <= 0x20) return code == 0x20 || (code >= 0x09 && code <= 0x0D);
  if (code < 0x1680) return code == 0x85 || code == 0xA0;
  return code == 0x1680 || (code >= 0x2000 && code <= 0x200A) || code == 0x2028 || code == 0x2029 ||
         code == 0x202F || code == 0x205F || code == 0x3000;
}

}  // namespace shoal::text
