// SPDX-License-Identifier: Apache-2.0
#include <utility>

#include "base/status.h"
#include "text/models/bpe_model.h"
#include "text/models/model.h"
#include "text/models/scored_bpe_model.h"
#include "text/models/unigram_model.h"
#include "text/models/word_piece_model.h"

namespace shoal::text {
namespace {

template <typename T>
absl::StatusOr<std::unique_ptr<const Model>> Own(absl::StatusOr<T> model) {
  if (!model.ok()) return model.status();
  return std::unique_ptr<const Model>(std::make_unique<const T>(*std::move(model)));
}

}  // namespace

absl::StatusOr<std::unique_ptr<const Model>> MakeModel(const TokenizerDefinition& definition) {
  switch (definition.model.kind) {
    case ModelKind::kByteLevelBpe:
    case ModelKind::kCharacterBpe:
      return Own(BpeModel::Create(definition));
    case ModelKind::kScoredBpe:
      return std::unique_ptr<const Model>(std::make_unique<const ScoredBpeModel>(definition));
    case ModelKind::kUnigram:
      return Own(UnigramModel::Create(definition));
    case ModelKind::kWordPiece:
      return Own(WordPieceModel::Create(definition));
  }
  return absl::InternalError("tokenizer: an unknown model kind");
}

}  // namespace shoal::text
