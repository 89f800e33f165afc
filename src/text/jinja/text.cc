// SPDX-License-Identifier: Apache-2.0
#include "text/jinja/text.h"

#include <algorithm>

namespace shoal::text::jinja {

std::vector<ByteRange> UserRanges(const Text& text, size_t begin, size_t end) {
  std::vector<ByteRange> ranges;
  auto range = std::partition_point(text.user.begin(), text.user.end(),
                                    [&](const ByteRange& r) { return r.end <= begin; });
  for (; range != text.user.end() && range->begin < end; ++range) {
    ranges.push_back({std::max(range->begin, begin), std::min(range->end, end)});
  }
  return ranges;
}

bool TextBuilder::Fits(size_t bytes) {
  if (bytes <= kBytesMax && text_.bytes.size() <= kBytesMax - bytes) return true;
  overflowed_ = true;
  return false;
}

void TextBuilder::Mark(size_t begin, size_t end) {
  if (begin == end) return;
  if (!text_.user.empty() && text_.user.back().end == begin) {
    text_.user.back().end = end;
  } else {
    text_.user.push_back({begin, end});
  }
}

void TextBuilder::Append(absl::string_view bytes, bool user) {
  if (!Fits(bytes.size())) return;
  const size_t begin = text_.bytes.size();
  text_.bytes.append(bytes.data(), bytes.size());
  if (user) Mark(begin, text_.bytes.size());
}

void TextBuilder::Append(const Text& text, size_t begin, size_t end) {
  if (!Fits(end - begin)) return;
  const size_t shift = text_.bytes.size();
  text_.bytes.append(text.bytes, begin, end - begin);
  for (const ByteRange& range : UserRanges(text, begin, end)) {
    Mark(range.begin - begin + shift, range.end - begin + shift);
  }
}

}  // namespace shoal::text::jinja
