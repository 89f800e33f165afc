// SPDX-License-Identifier: Apache-2.0
// The Unicode normalization forms and case.
#include <utf8proc.h>

#include <cstdlib>

#include "text/pipeline/normalizer_steps.h"
#include "text/pipeline/rewriter.h"
#include "text/unicode/category.h"
#include "text/utf8_trusted.h"

namespace shoal::text {
namespace {

utf8proc_option_t OptionsOf(NormalizerStep::Kind form) {
  int options = UTF8PROC_STABLE;
  const bool compat = form == NormalizerStep::Kind::kNfkc || form == NormalizerStep::Kind::kNfkd;
  const bool compose = form == NormalizerStep::Kind::kNfc || form == NormalizerStep::Kind::kNfkc;
  if (compat) options |= UTF8PROC_COMPAT;
  options |= compose ? UTF8PROC_COMPOSE : UTF8PROC_DECOMPOSE;
  return static_cast<utf8proc_option_t>(options);
}

// Blocks whose characters NFC leaves alone and that never join the character before them.
bool IsStableUnderNfc(uint32_t code) {
  static constexpr struct {
    uint32_t low, high;
  } kStable[] = {{0x0, 0x2FF},     {0x400, 0x482},   {0x48A, 0x590},   {0x5D0, 0x60F},
                 {0x620, 0x64A},   {0xE01, 0xE37},   {0xE40, 0xE47},   {0x1E00, 0x1EFF},
                 {0x2010, 0x2027}, {0x2030, 0x205E}, {0x2190, 0x2328}, {0x232B, 0x2ADB},
                 {0x3041, 0x3096}, {0x30A0, 0x30FF}, {0x3001, 0x3029}, {0x3400, 0x4DBF},
                 {0x4E00, 0x9FFF}, {0xAC00, 0xD7A3}, {0xFF01, 0xFFDC}, {0x1F300, 0x1FAFF}};
  for (const auto& block : kStable) {
    if (code >= block.low && code <= block.high) return true;
  }
  return false;
}

bool IsStable(absl::string_view text) {
  for (size_t position = 0; position < text.size();) {
    const TrustedStep step = StepTrusted(text, position);
    if (!IsStableUnderNfc(step.code)) return false;
    position += step.length;
  }
  return true;
}

// Normalizes [begin, end): an ASCII character, or none, and what is not ASCII after it. No
// character outside can join with one inside.
void RewriteRun(utf8proc_option_t options, size_t begin, size_t end, Rewriter* rewriter) {
  utf8proc_uint8_t* mapped = nullptr;
  const absl::string_view run = rewriter->text().substr(begin, end - begin);
  const utf8proc_ssize_t size =
      utf8proc_map(reinterpret_cast<const utf8proc_uint8_t*>(run.data()),
                   static_cast<utf8proc_ssize_t>(run.size()), &mapped, options);
  if (size < 0) {  // out of memory; as it is is the best that is left
    rewriter->Keep(begin, end);
    return;
  }
  absl::string_view result(reinterpret_cast<const char*>(mapped), static_cast<size_t>(size));
  // The ASCII character keeps its own mark unless something joined it.
  if (!result.empty() && result[0] == run[0] && static_cast<uint8_t>(run[0]) < 0x80) {
    rewriter->Keep(begin, begin + 1);
    result.remove_prefix(1);
    ++begin;
  }
  rewriter->Put(result, begin, end);
  std::free(mapped);
}

}  // namespace

void ApplyUnicodeForm(NormalizerStep::Kind form, NormalizedText* text) {
  const bool nfc = form == NormalizerStep::Kind::kNfc;
  const utf8proc_option_t options = OptionsOf(form);
  Rewriter rewriter(text);
  const absl::string_view all = rewriter.text();
  const auto ascii = [&](size_t i) { return static_cast<uint8_t>(all[i]) < 0x80; };
  size_t kept = 0;
  size_t position = 0;
  while (position < all.size()) {
    if (ascii(position)) {
      ++position;
      continue;
    }
    const size_t begin = position > 0 ? position - 1 : 0;
    while (position < all.size() && !ascii(position)) ++position;
    if (nfc && IsStable(all.substr(begin, position - begin))) continue;
    rewriter.Keep(kept, begin);
    RewriteRun(options, begin, position, &rewriter);
    kept = position;
  }
  if (kept == 0) return;
  rewriter.Keep(kept, all.size());
  rewriter.Finish();
}

void ApplyLowercase(NormalizedText* text) {
  Rewriter rewriter(text);
  const absl::string_view all = rewriter.text();
  for (size_t position = 0; position < all.size();) {
    const TrustedStep step = StepTrusted(all, position);
    const size_t end = position + step.length;
    const uint32_t lower =
        static_cast<uint32_t>(utf8proc_tolower(static_cast<utf8proc_int32_t>(step.code)));
    if (step.code == 0x130) {  // the one character whose lower case is two
      rewriter.Put("i\xCC\x87", position, end);
    } else if (lower == step.code) {
      rewriter.Keep(position, end);
    } else {
      rewriter.PutCharacter(lower, position, end);
    }
    position = end;
  }
  rewriter.Finish();
}

void RemoveCategories(uint32_t categories, NormalizedText* text) {
  Rewriter rewriter(text);
  const absl::string_view all = rewriter.text();
  for (size_t position = 0; position < all.size();) {
    const TrustedStep step = StepTrusted(all, position);
    if (!IsIn(step.code, categories)) rewriter.Keep(position, position + step.length);
    position += step.length;
  }
  rewriter.Finish();
}

}  // namespace shoal::text
