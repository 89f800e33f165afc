// SPDX-License-Identifier: Apache-2.0
#include "text/jinja/strings.h"

#include <utf8proc.h>

#include <algorithm>
#include <utility>

#include "base/status.h"
#include "text/utf8.h"

namespace shoal::text::jinja {
namespace {

size_t Before(absl::string_view text, size_t position) {
  do {
    --position;
  } while (position > 0 && (static_cast<uint8_t>(text[position]) & 0xC0) == 0x80);
  return position;
}

bool IsLetter(uint32_t code) {
  const utf8proc_category_t category = utf8proc_category(static_cast<utf8proc_int32_t>(code));
  return category >= UTF8PROC_CATEGORY_LU && category <= UTF8PROC_CATEGORY_LO;
}

void AppendUpper(uint32_t code, bool title, std::string* out) {
  if (code == 0xDF) {  // the one common letter whose capital is two
    out->append(title ? "Ss" : "SS");
    return;
  }
  const auto c = static_cast<utf8proc_int32_t>(code);
  AppendUtf8(static_cast<uint32_t>(title ? utf8proc_totitle(c) : utf8proc_toupper(c)), out);
}

}  // namespace

bool IsPythonSpace(uint32_t code) { return IsUnicodeSpace(code) || (code >= 0x1C && code <= 0x1F); }

Value Part(Machine& machine, const Value& self, size_t begin, size_t end) {
  TextBuilder out;
  out.Append(*self.text, begin, end);
  return machine.arena.NewString(std::move(out));
}

Value Strip(Machine& machine, const Value& self, const Value* characters, bool left, bool right) {
  const absl::string_view text = self.str();
  const auto strips = [&](size_t at) {
    const Utf8Step step = StepUtf8(text, at);
    if (characters == nullptr) return IsPythonSpace(step.code);
    return characters->str().find(std::string(text.substr(at, step.length))) != std::string::npos;
  };
  size_t begin = 0;
  size_t end = text.size();
  while (left && begin < end && strips(begin)) begin += StepUtf8(text, begin).length;
  while (right && end > begin && strips(Before(text, end))) end = Before(text, end);
  return Part(machine, self, begin, end);
}

Value ChangeCase(Machine& machine, const Value& self, Case to) {
  const Text& text = *self.text;
  TextBuilder out;
  auto range = text.user.begin();
  bool previous_letter = false;
  std::string changed;
  for (size_t at = 0; at < text.bytes.size();) {
    const Utf8Step step = StepUtf8(text.bytes, at);
    while (range != text.user.end() && range->end <= at) ++range;
    const bool user = range != text.user.end() && range->begin <= at;
    const bool first = to == Case::kCapitalize ? at == 0 : !previous_letter;
    const bool upper = to == Case::kUpper || (to != Case::kLower && first);
    changed.clear();
    if (upper) {
      AppendUpper(step.code, to != Case::kUpper, &changed);
    } else {
      const auto code = static_cast<utf8proc_int32_t>(step.code);
      AppendUtf8(static_cast<uint32_t>(utf8proc_tolower(code)), &changed);
    }
    out.Append(changed, user);
    previous_letter = IsLetter(step.code);
    at += step.length;
  }
  return machine.arena.NewString(std::move(out));
}

absl::StatusOr<Value> Replace(Machine& machine, const Value& self, const Value& from,
                              const Value& to, int64_t count) {
  const std::string& text = self.str();
  SHOAL_RETURN_IF_ERROR(machine.Work(1 + static_cast<int64_t>(text.size() / 64)));
  TextBuilder out;
  size_t done = 0;
  if (from.str().empty()) {  // before every character and at the end
    for (size_t at = 0; count != 0; --count) {
      out.Append(*to.text);
      if (at >= text.size()) break;
      const size_t next = at + StepUtf8(text, at).length;
      out.Append(*self.text, at, next);
      at = done = next;
    }
  } else {
    while (count != 0 && !out.overflowed()) {
      const size_t found = text.find(from.str(), done);
      if (found == std::string::npos) break;
      out.Append(*self.text, done, found);
      out.Append(*to.text);
      done = found + from.str().size();
      --count;
    }
  }
  out.Append(*self.text, done, text.size());
  return machine.arena.NewString(std::move(out));
}

namespace {

using Span = std::pair<size_t, size_t>;

std::vector<Span> SplitAtSpace(absl::string_view text, int64_t count, bool from_right) {
  std::vector<Span> words;
  for (size_t at = 0; at < text.size();) {
    const Utf8Step step = StepUtf8(text, at);
    const size_t next = at + step.length;
    if (!IsPythonSpace(step.code)) {
      if (!words.empty() && words.back().second == at) {
        words.back().second = next;
      } else {
        words.emplace_back(at, next);
      }
    }
    at = next;
  }
  const size_t keep = static_cast<size_t>(count) + 1;
  if (count < 0 || words.size() <= keep) return words;
  // The uncut part keeps its white space to the end of the text.
  if (from_right) {
    const size_t extra = words.size() - keep;
    words.erase(words.begin(), words.begin() + static_cast<std::ptrdiff_t>(extra));
    words[0].first = 0;
  } else {
    words.resize(keep);
    words.back().second = text.size();
  }
  return words;
}

std::vector<Span> SplitAt(absl::string_view text, absl::string_view separator, int64_t count,
                          bool from_right) {
  std::vector<Span> parts;
  if (from_right) {
    size_t end = text.size();
    while (count-- != 0 && end >= separator.size()) {
      const size_t found = text.rfind(separator, end - separator.size());
      if (found == absl::string_view::npos) break;
      parts.emplace_back(found + separator.size(), end);
      end = found;
    }
    parts.emplace_back(0, end);
    std::reverse(parts.begin(), parts.end());
    return parts;
  }
  size_t begin = 0;
  while (count-- != 0) {
    const size_t found = text.find(separator, begin);
    if (found == absl::string_view::npos) break;
    parts.emplace_back(begin, found);
    begin = found + separator.size();
  }
  parts.emplace_back(begin, text.size());
  return parts;
}

}  // namespace

absl::StatusOr<Value> Split(Machine& machine, const Value& self, const Value* separator,
                            int64_t count, bool from_right) {
  const std::string& text = self.str();
  SHOAL_RETURN_IF_ERROR(machine.Work(1 + static_cast<int64_t>(text.size() / 16)));
  if (separator != nullptr && separator->str().empty()) return Fail("empty separator");
  const std::vector<Span> spans = separator == nullptr
                                      ? SplitAtSpace(text, count, from_right)
                                      : SplitAt(text, separator->str(), count, from_right);
  SHOAL_RETURN_IF_ERROR(machine.Work(static_cast<int64_t>(spans.size())));
  std::vector<Value> parts;
  for (const Span& span : spans) parts.push_back(Part(machine, self, span.first, span.second));
  return machine.arena.NewList(std::move(parts));
}

absl::StatusOr<Value> SplitLines(Machine& machine, const Value& self, bool keep_ends) {
  const std::string& text = self.str();
  SHOAL_RETURN_IF_ERROR(machine.Work(1 + static_cast<int64_t>(text.size() / 16)));
  std::vector<Value> lines;
  size_t begin = 0;
  for (size_t at = 0; at < text.size();) {
    const Utf8Step step = StepUtf8(text, at);
    size_t next = at + step.length;
    const uint32_t c = step.code;
    if ((c >= 0x0A && c <= 0x0D) || (c >= 0x1C && c <= 0x1E) || c == 0x85 || c == 0x2028 ||
        c == 0x2029) {
      if (c == '\r' && next < text.size() && text[next] == '\n') ++next;
      lines.push_back(Part(machine, self, begin, keep_ends ? next : at));
      begin = next;
    }
    at = next;
  }
  if (begin < text.size()) lines.push_back(Part(machine, self, begin, text.size()));
  SHOAL_RETURN_IF_ERROR(machine.Work(static_cast<int64_t>(lines.size())));
  return machine.arena.NewList(std::move(lines));
}

absl::StatusOr<Value> Join(Machine& machine, const Value& separator,
                           const std::vector<Value>& items, bool strings_only) {
  SHOAL_RETURN_IF_ERROR(machine.Work(static_cast<int64_t>(items.size())));
  TextBuilder out;
  for (size_t i = 0; i < items.size() && !out.overflowed(); ++i) {
    if (i > 0) AppendStr(separator, &out);
    if (strings_only && !items[i].is(Kind::kString)) {
      return Fail(absl::StrCat("sequence item ", i, ": expected str, found ", TypeName(items[i])));
    }
    AppendStr(items[i], &out);
  }
  return machine.arena.NewString(std::move(out));
}

}  // namespace shoal::text::jinja
