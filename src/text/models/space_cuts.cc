// SPDX-License-Identifier: Apache-2.0
#include "text/models/space_cuts.h"

#include "text/utf8_trusted.h"

namespace shoal::text {
namespace {

constexpr absl::string_view kSpace = "\xE2\x96\x81";
constexpr uint32_t kSpaceCode = 0x2581;

}  // namespace

SpaceCuts::SpaceCuts(const TokenizerDefinition& definition) {
  before_space_.insert(kSpaceCode);
  for (const TokenDefinition& token : definition.tokens) {
    if (token.kind == TokenKind::kAbsent || token.kind == TokenKind::kControl) continue;
    const absl::string_view spelling = token.spelling;
    if (spelling == kSpace) enabled_ = token.kind == TokenKind::kNormal;
    for (size_t at = spelling.find(kSpace, 1); at != absl::string_view::npos;
         at = spelling.find(kSpace, at + 1)) {
      before_space_.insert(StepTrusted(spelling, CharacterBefore(spelling, at)).code);
    }
  }
  if (definition.model.ignore_merges) enabled_ = false;  // whole pieces count
}

void SpaceCuts::Cut(absl::string_view piece, std::vector<absl::string_view>* parts) const {
  size_t begin = 0;
  if (enabled_) {
    for (size_t at = piece.find(kSpace, 1); at != absl::string_view::npos;
         at = piece.find(kSpace, at + kSpace.size())) {
      const uint32_t before = StepTrusted(piece, CharacterBefore(piece, at)).code;
      if (before == kSpaceCode || before_space_.contains(before)) continue;
      parts->push_back(piece.substr(begin, at - begin));
      begin = at;
    }
  }
  parts->push_back(piece.substr(begin));
}

}  // namespace shoal::text
