// SPDX-License-Identifier: Apache-2.0
// The two layers whose rows are vocabulary entries, split over the tensor ranks of a replica: the
// token embedding (a gather, never a sum) and the head. A group of one holds the whole vocabulary;
// larger groups are refused when the layer is created, with "not available yet".
#pragma once

#include <cstdint>
#include <memory>
#include <span>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "kernels/backend.h"
#include "parallel/communicator.h"

namespace shoal::parallel {

// Immutable after creation. Backend and group must outlive it; ranks call in the same order.
class VocabularyEmbedding {
 public:
  // `table` is the whole [vocabulary, hidden] table; `name` is used in errors.
  static absl::StatusOr<VocabularyEmbedding> Create(kernels::Backend& backend, Communicator& group,
                                                    const kernels::WeightView& table,
                                                    absl::string_view name);
  // out [tokens, hidden] = table[token] * scale; tokens are below the vocabulary's size.
  absl::Status Apply(kernels::Stream& stream, std::span<const int32_t> tokens, float scale,
                     const kernels::Tensor& out) const;
  int64_t bytes() const { return table_->bytes(); }

 private:
  VocabularyEmbedding(kernels::Backend& backend, Communicator& group,
                      std::unique_ptr<kernels::PreparedTable> table)
      : backend_(&backend), group_(&group), table_(std::move(table)) {}

  kernels::Backend* backend_;
  Communicator* group_;
  std::unique_ptr<kernels::PreparedTable> table_;
};

// As VocabularyEmbedding.
class VocabularyHead {
 public:
  static absl::StatusOr<VocabularyHead> Create(kernels::Backend& backend, Communicator& group,
                                               const kernels::MatrixSource& source);
  // logits [R, vocabulary] of hidden [R, H]; each rank ends with the rows it samples (of one rank:
  // all of them).
  absl::Status Apply(kernels::Stream& stream, const kernels::Tensor& hidden,
                     const kernels::Tensor& logits) const;
  int64_t bytes() const { return weight_->bytes(); }

 private:
  VocabularyHead(kernels::Backend& backend, Communicator& group,
                 std::unique_ptr<kernels::PreparedMatrix> weight)
      : backend_(&backend), group_(&group), weight_(std::move(weight)) {}

  kernels::Backend* backend_;
  Communicator* group_;
  std::unique_ptr<kernels::PreparedMatrix> weight_;
};

}  // namespace shoal::parallel
