// SPDX-License-Identifier: Apache-2.0
#include "text/pipeline/normalizer.h"

#include <utility>

#include "base/status.h"
#include "text/pipeline/normalizer_steps.h"
#include "text/unicode/category.h"

namespace shoal::text {

struct Normalizer::Step {
  NormalizerStep definition;
  std::unique_ptr<const Charsmap> charsmap;
};

Normalizer::Normalizer(std::vector<Step> steps) : steps_(std::move(steps)) {}
Normalizer::Normalizer(Normalizer&&) noexcept = default;
Normalizer& Normalizer::operator=(Normalizer&&) noexcept = default;
Normalizer::~Normalizer() = default;

absl::StatusOr<Normalizer> Normalizer::Create(std::vector<NormalizerStep> steps) {
  std::vector<Step> ready;
  for (NormalizerStep& definition : steps) {
    Step step;
    if (!definition.charsmap.empty()) {
      SHOAL_ASSIGN_OR_RETURN(Charsmap map, Charsmap::Parse(definition.charsmap));
      step.charsmap = std::make_unique<const Charsmap>(std::move(map));
      definition.charsmap.clear();
    }
    step.definition = std::move(definition);
    ready.push_back(std::move(step));
  }
  return Normalizer(std::move(ready));
}

absl::Status Normalizer::ApplyStep(const Step& step, const PartPlace& place, NormalizedText* text) {
  using Kind = NormalizerStep::Kind;
  const NormalizerStep& definition = step.definition;
  switch (definition.kind) {
    case Kind::kNfc:
    case Kind::kNfd:
    case Kind::kNfkc:
    case Kind::kNfkd:
      ApplyUnicodeForm(definition.kind, text);
      break;
    case Kind::kLowercase:
      ApplyLowercase(text);
      break;
    case Kind::kStripAccents:
      RemoveCategories(category::kMark, text);
      break;
    case Kind::kNmt:
      ApplyNmt(text);
      break;
    case Kind::kReplace:
      return ApplyReplace(*definition.pattern, definition.content, text);
    case Kind::kPrepend:
      ApplyPrepend(definition.content, text);
      break;
    case Kind::kStrip:
      ApplyStrip(definition.left, definition.right, text);
      break;
    case Kind::kBert:
      ApplyBert(definition, text);
      break;
    case Kind::kCharsmap:
      if (step.charsmap != nullptr) ApplyCharsmap(*step.charsmap, text);
      break;
    case Kind::kSentencePiece:
      ApplySentencePiece(definition, step.charsmap.get(), place, text);
      break;
  }
  return absl::OkStatus();
}

absl::Status Normalizer::Apply(const PartPlace& place, NormalizedText* text) const {
  for (const Step& step : steps_) SHOAL_RETURN_IF_ERROR(ApplyStep(step, place, text));
  return absl::OkStatus();
}

}  // namespace shoal::text
