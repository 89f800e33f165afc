// SPDX-License-Identifier: Apache-2.0
// SpaceCuts: where a long text can be cut before a space symbol because no token reaches across.
#pragma once

#include <vector>

#include "absl/container/flat_hash_set.h"
#include "absl/strings/string_view.h"
#include "text/tokenizer_definition.h"

namespace shoal::text {

// Vocabularies in which U+2581 stands for a space have hardly any token with one behind another
// character, so texts that nothing else cuts fall into words. Immutable, safe from any thread.
class SpaceCuts {
 public:
  explicit SpaceCuts(const TokenizerDefinition& definition);

  // Appends `piece` in parts, cut before each space symbol that no token continues up to.
  void Cut(absl::string_view piece, std::vector<absl::string_view>* parts) const;

 private:
  bool enabled_ = false;  // the space symbol itself is a token
  // Characters that stand before a space symbol in some token.
  absl::flat_hash_set<uint32_t> before_space_;
};

}  // namespace shoal::text
