// SPDX-License-Identifier: Apache-2.0
#include "parallel/layers/vocabulary.h"

#include <utility>

#include "base/check.h"
#include "base/status.h"
#include "parallel/layers/linear.h"

namespace shoal::parallel {

absl::StatusOr<VocabularyEmbedding> VocabularyEmbedding::Create(kernels::Backend& backend,
                                                                Communicator& group,
                                                                const kernels::WeightView& table,
                                                                absl::string_view name) {
  SHOAL_RETURN_IF_ERROR(CheckGroupIsBuilt(group));
  auto prepared = backend.PrepareTable(table);
  if (!prepared.ok()) return Annotate(prepared.status(), name);
  return VocabularyEmbedding(backend, group, *std::move(prepared));
}

absl::Status VocabularyEmbedding::Apply(kernels::Stream& stream, std::span<const int32_t> tokens,
                                        float scale, const kernels::Tensor& out) const {
  SHOAL_CHECK(group_->size() == 1);
  backend_->dense().Embed(stream, *table_, tokens, scale, out);
  return absl::OkStatus();
}

absl::StatusOr<VocabularyHead> VocabularyHead::Create(kernels::Backend& backend,
                                                      Communicator& group,
                                                      const kernels::MatrixSource& source) {
  SHOAL_RETURN_IF_ERROR(CheckGroupIsBuilt(group));
  auto weight = backend.PrepareMatrix(source);
  if (!weight.ok()) return Annotate(weight.status(), source.name);
  return VocabularyHead(backend, group, *std::move(weight));
}

absl::Status VocabularyHead::Apply(kernels::Stream& stream, const kernels::Tensor& hidden,
                                   const kernels::Tensor& logits) const {
  SHOAL_CHECK(group_->size() == 1);
  backend_->dense().MatMul(stream, hidden, *weight_, logits);
  return absl::OkStatus();
}

}  // namespace shoal::parallel
