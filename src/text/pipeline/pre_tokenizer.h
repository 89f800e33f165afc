// SPDX-License-Identifier: Apache-2.0
// PreTokenizer: cuts text into the pieces that a model never joins.
#pragma once

#include <deque>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/strings/string_view.h"
#include "text/tokenizer_definition.h"

namespace shoal::text {

// Immutable after construction, safe from any thread.
class PreTokenizer {
 public:
  explicit PreTokenizer(std::vector<PreTokenizerStep> steps) : steps_(std::move(steps)) {}

  // Sets `pieces` to those of `text` (well-formed UTF-8), in order; views into `text` or into
  // strings that are put into `storage`. `first`: nothing stands before the text. Linear in the
  // text. INVALID_ARGUMENT when a pattern takes too long.
  absl::Status Split(absl::string_view text, bool first, std::deque<std::string>* storage,
                     std::vector<absl::string_view>* pieces) const;

 private:
  std::vector<PreTokenizerStep> steps_;
};

}  // namespace shoal::text
