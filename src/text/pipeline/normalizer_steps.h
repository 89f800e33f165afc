// SPDX-License-Identifier: Apache-2.0
// The single steps of normalization. Each takes well-formed UTF-8 and leaves such; all are pure and
// linear in the text.
#pragma once

#include "absl/status/status.h"
#include "text/pipeline/charsmap.h"
#include "text/pipeline/normalizer.h"

namespace shoal::text {

void ApplyUnicodeForm(NormalizerStep::Kind form, NormalizedText* text);
void ApplyLowercase(NormalizedText* text);
// Removes the characters of these categories.
void RemoveCategories(uint32_t categories, NormalizedText* text);
void ApplyNmt(NormalizedText* text);
void ApplyStrip(bool left, bool right, NormalizedText* text);
void ApplyBert(const NormalizerStep& step, NormalizedText* text);
absl::Status ApplyReplace(const Pattern& pattern, absl::string_view content, NormalizedText* text);
void ApplyPrepend(absl::string_view content, NormalizedText* text);
void ApplyCharsmap(const Charsmap& map, NormalizedText* text);
// `map` may be null: no rules.
void ApplySentencePiece(const NormalizerStep& step, const Charsmap* map, const PartPlace& place,
                        NormalizedText* text);

}  // namespace shoal::text
