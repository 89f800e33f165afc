// SPDX-License-Identifier: Apache-2.0
// Normalizer: the changes a tokenizer makes to text before it is cut into pieces.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "text/tokenizer_definition.h"

namespace shoal::text {

// Text on its way through the steps.
struct NormalizedText {
  std::string text;
  // With `track`, a byte per byte of text: 1 where it came (also) from a marked byte. Whoever must
  // know what users wrote follows it through the changes this way.
  std::string marks;
  bool track = false;
};

// Where a part of the text stands between added tokens.
struct PartPlace {
  bool first = true;  // nothing before it
  bool last = true;   // nothing after it
};

// Immutable, safe from any thread.
class Normalizer {
 public:
  // INVALID_ARGUMENT for a charsmap that cannot be read.
  static absl::StatusOr<Normalizer> Create(std::vector<NormalizerStep> steps);
  Normalizer(Normalizer&&) noexcept;
  Normalizer& operator=(Normalizer&&) noexcept;
  ~Normalizer();

  bool empty() const { return steps_.empty(); }
  // `text` must be well-formed UTF-8 and stays so. Linear in the text.
  absl::Status Apply(const PartPlace& place, NormalizedText* text) const;

 private:
  struct Step;
  explicit Normalizer(std::vector<Step> steps);
  static absl::Status ApplyStep(const Step& step, const PartPlace& place, NormalizedText* text);

  std::vector<Step> steps_;
};

}  // namespace shoal::text
