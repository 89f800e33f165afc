// SPDX-License-Identifier: Apache-2.0
#include "text/pipeline/normalizer_steps.h"

#include <utf8proc.h>

#include <vector>

#include "base/status.h"
#include "text/pipeline/rewriter.h"
#include "text/unicode/category.h"
#include "text/utf8_trusted.h"

namespace shoal::text {
namespace {

constexpr char kSpaceSymbol[] = "\xE2\x96\x81";

// Calls `each(code, begin, end)` for every character of the old text, then finishes.
template <typename Each>
void RewriteEach(NormalizedText* text, const Each& each) {
  Rewriter rewriter(text);
  const absl::string_view all = rewriter.text();
  for (size_t position = 0; position < all.size();) {
    const TrustedStep step = StepTrusted(all, position);
    each(step.code, position, position + step.length, &rewriter);
    position += step.length;
  }
  rewriter.Finish();
}

bool IsChinese(uint32_t code) {
  return (code >= 0x4E00 && code <= 0x9FFF) || (code >= 0x3400 && code <= 0x4DBF) ||
         (code >= 0x20000 && code <= 0x2A6DF) || (code >= 0x2A700 && code <= 0x2B73F) ||
         (code >= 0x2B740 && code <= 0x2B81F) || (code >= 0x2B920 && code <= 0x2CEAF) ||
         (code >= 0xF900 && code <= 0xFAFF) || (code >= 0x2F800 && code <= 0x2FA1F);
}

void CleanForBert(NormalizedText* text) {
  RewriteEach(text, [](uint32_t code, size_t begin, size_t end, Rewriter* out) {
    const bool line = code == '\t' || code == '\n' || code == '\r';
    if (line) return out->Put(" ", begin, end);
    if (code == 0 || code == 0xFFFD ||
        IsIn(code, category::kControl | category::kFormat | category::kPrivateUse)) {
      return;
    }
    if (IsIn(code, category::kWhiteSpace)) return out->Put(" ", begin, end);
    out->Keep(begin, end);
  });
}

}  // namespace

void ApplyNmt(NormalizedText* text) {
  RewriteEach(text, [](uint32_t code, size_t begin, size_t end, Rewriter* out) {
    const bool dropped = (code >= 1 && code <= 8) || code == 0xB || (code >= 0xE && code <= 0x1F) ||
                         code == 0x7F || code == 0x8F || code == 0x9F;
    if (dropped) return;
    const bool space = code == 9 || code == 0xA || code == 0xC || code == 0xD || code == 0x1680 ||
                       (code >= 0x200B && code <= 0x200F) || code == 0x2028 || code == 0x2029 ||
                       code == 0x2581 || code == 0xFEFF || code == 0xFFFD;
    if (space) return out->Put(" ", begin, end);
    out->Keep(begin, end);
  });
}

void ApplyStrip(bool left, bool right, NormalizedText* text) {
  const absl::string_view all = text->text;
  size_t begin = 0;
  size_t end = all.size();
  while (left && begin < end) {
    const TrustedStep step = StepTrusted(all, begin);
    if (!IsIn(step.code, category::kWhiteSpace)) break;
    begin += step.length;
  }
  while (right && end > begin) {
    const size_t before = CharacterBefore(all, end);
    if (!IsIn(StepTrusted(all, before).code, category::kWhiteSpace)) break;
    end = before;
  }
  if (begin == 0 && end == all.size()) return;
  Rewriter rewriter(text);
  rewriter.Keep(begin, end);
  rewriter.Finish();
}

void ApplyBert(const NormalizerStep& step, NormalizedText* text) {
  if (step.clean) CleanForBert(text);
  if (step.chinese) {
    RewriteEach(text, [](uint32_t code, size_t begin, size_t end, Rewriter* out) {
      const bool chinese = IsChinese(code);
      if (chinese) out->Put(" ", begin, end);
      out->Keep(begin, end);
      if (chinese) out->Put(" ", begin, end);
    });
  }
  if (step.accents) {
    ApplyUnicodeForm(NormalizerStep::Kind::kNfd, text);
    RemoveCategories(category::kNonspacingMark, text);
  }
  if (step.lowercase) ApplyLowercase(text);
}

absl::Status ApplyReplace(const Pattern& pattern, absl::string_view content, NormalizedText* text) {
  std::vector<ByteRange> matches;
  SHOAL_RETURN_IF_ERROR(pattern.FindAll(text->text, &matches));
  if (matches.empty()) return absl::OkStatus();
  Rewriter rewriter(text);
  size_t done = 0;
  for (const ByteRange& match : matches) {
    rewriter.Keep(done, match.begin);
    rewriter.Put(content, match.begin, match.end);
    done = match.end;
  }
  rewriter.Keep(done, rewriter.text().size());
  rewriter.Finish();
  return absl::OkStatus();
}

void ApplyPrepend(absl::string_view content, NormalizedText* text) {
  if (text->text.empty()) return;
  Rewriter rewriter(text);
  rewriter.Put(content, 0, 0);
  rewriter.Keep(0, rewriter.text().size());
  rewriter.Finish();
}

// The reference looks at whole graphemes of up to five bytes first, and at the shortest rule.
void ApplyCharsmap(const Charsmap& map, NormalizedText* text) {
  constexpr size_t kGraphemeBytesMax = 5;
  Rewriter rewriter(text);
  const absl::string_view all = rewriter.text();
  for (size_t begin = 0; begin < all.size();) {
    TrustedStep step = StepTrusted(all, begin);
    size_t end = begin + step.length;
    utf8proc_int32_t state = 0;
    while (end < all.size()) {
      const TrustedStep next = StepTrusted(all, end);
      if (utf8proc_grapheme_break_stateful(static_cast<utf8proc_int32_t>(step.code),
                                           static_cast<utf8proc_int32_t>(next.code), &state)) {
        break;
      }
      step = next;
      end += next.length;
    }
    if (end - begin <= kGraphemeBytesMax) {
      if (const auto match = map.Shortest(all.substr(begin, end - begin))) {
        rewriter.Put(match->replacement, begin, end);
        begin = end;
        continue;
      }
    }
    while (begin < end) {
      const size_t next = begin + StepTrusted(all, begin).length;
      if (const auto match = map.Shortest(all.substr(begin, next - begin))) {
        rewriter.Put(match->replacement, begin, next);
      } else {
        rewriter.Keep(begin, next);
      }
      begin = next;
    }
  }
  rewriter.Finish();
}

void ApplySentencePiece(const NormalizerStep& step, const Charsmap* map, const PartPlace& place,
                        NormalizedText* text) {
  const bool at_start = place.first || step.prefix_always;
  const bool at_end = place.last || step.prefix_always;
  Rewriter rewriter(text);
  const absl::string_view all = rewriter.text();
  bool after_space = step.collapse_spaces && at_start;
  bool prefix = at_start && (step.prefix_first || step.prefix_always);
  size_t spaces = 0;  // seen and not yet written, as those at the end may have to go
  size_t spaces_begin = 0;
  for (size_t position = 0; position < all.size();) {
    size_t length = StepTrusted(all, position).length;
    absl::string_view content = all.substr(position, length);
    if (map != nullptr) {
      if (const auto match = map->Longest(all.substr(position))) {
        content = match->replacement;
        length = match->length;
      }
    }
    for (size_t i = 0; i < content.size();) {
      const size_t bytes = StepTrusted(content, i).length;
      if (content[i] == ' ') {
        if (spaces == 0) spaces_begin = position;
        if (!after_space) ++spaces;
        after_space = step.collapse_spaces;
      } else {
        if (prefix) rewriter.Put(kSpaceSymbol, 0, 0);
        prefix = false;
        for (; spaces > 0; --spaces) rewriter.Put(kSpaceSymbol, spaces_begin, position);
        rewriter.Put(content.substr(i, bytes), position, position + length);
        after_space = false;
      }
      i += bytes;
    }
    position += length;
  }
  if (!step.collapse_spaces || !at_end) {
    if (prefix && spaces > 0) rewriter.Put(kSpaceSymbol, 0, 0);
    for (; spaces > 0; --spaces) rewriter.Put(kSpaceSymbol, spaces_begin, all.size());
  }
  rewriter.Finish();
}

}  // namespace shoal::text
