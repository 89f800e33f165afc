// SPDX-License-Identifier: Apache-2.0
// Rewriter: builds a changed text from an old one and carries the marks along.
#pragma once

#include <string>
#include <utility>

#include "absl/strings/string_view.h"
#include "text/pipeline/normalizer.h"
#include "text/utf8.h"

namespace shoal::text {

// One use: read `text()`, call Keep and Put, then Finish.
class Rewriter {
 public:
  // `text` must outlive the rewriter and is replaced by Finish.
  explicit Rewriter(NormalizedText* text) : from_(text) { out_.reserve(text->text.size()); }

  absl::string_view text() const { return from_->text; }

  // Bytes [begin, end) of the old text as they are.
  void Keep(size_t begin, size_t end) {
    out_.append(from_->text, begin, end - begin);
    if (from_->track) marks_.append(from_->marks, begin, end - begin);
  }
  // `content` in the place of bytes [begin, end): marked when any of these is.
  void Put(absl::string_view content, size_t begin, size_t end) {
    out_.append(content.data(), content.size());
    if (from_->track) marks_.append(content.size(), AnyMark(begin, end));
  }
  void PutCharacter(uint32_t code, size_t begin, size_t end) {
    const size_t size = out_.size();
    AppendUtf8(code, &out_);
    if (from_->track) marks_.append(out_.size() - size, AnyMark(begin, end));
  }
  void Finish() {
    from_->text = std::move(out_);
    from_->marks = std::move(marks_);
  }

 private:
  char AnyMark(size_t begin, size_t end) const {
    return from_->marks.substr(begin, end - begin).find('\1') == std::string::npos ? '\0' : '\1';
  }

  NormalizedText* from_;
  std::string out_;
  std::string marks_;
};

}  // namespace shoal::text
