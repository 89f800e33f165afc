// SPDX-License-Identifier: Apache-2.0
// PreTokenizer: cuts text into the pieces that BPE merges never cross.
#pragma once

#include <memory>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "text/bpe/bpe_definition.h"

namespace shoal::text {

// Immutable after Create, safe from any thread.
class PreTokenizer {
 public:
  static absl::StatusOr<PreTokenizer> Create(const PreTokenizerDefinition& definition);
  PreTokenizer(PreTokenizer&&) noexcept;
  PreTokenizer& operator=(PreTokenizer&&) noexcept;
  ~PreTokenizer();

  // Appends the pieces of `text` (well-formed UTF-8), in order and without gaps, as views into it.
  // INVALID_ARGUMENT when the pattern's match limits are reached.
  absl::Status Split(absl::string_view text, std::vector<absl::string_view>* pieces) const;

 private:
  struct Pattern;  // the compiled expression

  PreTokenizer();
  absl::Status SplitByPattern(absl::string_view text, void* match,
                              std::vector<absl::string_view>* pieces) const;

  DigitSplit digits_ = DigitSplit::kNone;
  std::unique_ptr<const Pattern> pattern_;  // null: parts stay whole
};

}  // namespace shoal::text
