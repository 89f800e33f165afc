// SPDX-License-Identifier: Apache-2.0
// Text: a string that knows which of its bytes users wrote. What is derived from user text (a
// slice, a trimmed or joined or replaced part) stays marked; what the template says itself is not.
#pragma once

#include <cstddef>
#include <string>
#include <vector>

#include "absl/strings/string_view.h"
#include "text/tokenizer.h"

namespace shoal::text::jinja {

// A plain value. `user` is sorted, disjoint and inside `bytes`.
struct Text {
  std::string bytes;
  std::vector<ByteRange> user;
};

// Marked bytes of `text` in [begin, end), as ranges of `text`.
std::vector<ByteRange> UserRanges(const Text& text, size_t begin, size_t end);

// Builds a Text up to a size limit; what does not fit is dropped and remembered.
class TextBuilder {
 public:
  static constexpr size_t kBytesMax = 16u << 20;

  void Append(absl::string_view bytes, bool user);
  void Append(const Text& text) { Append(text, 0, text.bytes.size()); }
  // Bytes [begin, end) of `text`.
  void Append(const Text& text, size_t begin, size_t end);

  bool overflowed() const { return overflowed_; }
  size_t size() const { return text_.bytes.size(); }
  Text Take() { return std::move(text_); }

 private:
  bool Fits(size_t bytes);
  void Mark(size_t begin, size_t end);

  Text text_;
  bool overflowed_ = false;
};

}  // namespace shoal::text::jinja
