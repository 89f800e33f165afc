// SPDX-License-Identifier: Apache-2.0
// Linear layers split over the tensor ranks of a replica, in the two ways a decoder needs:
// ColumnLinear cuts the outputs and exchanges nothing; RowLinear cuts the inputs at leaf borders
// and finishes the leaf tree across ranks, so that any number of ranks gives the bits of one. A
// group of one holds whole matrices and exchanges nothing; larger groups are refused when the layer
// is created, with "not available yet".
#pragma once

#include <cstdint>
#include <memory>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "kernels/backend.h"
#include "parallel/communicator.h"

namespace shoal::parallel {

// Immutable after creation; Apply may be called from any thread with that thread's Stream. The
// backend must outlive the layer.
class ColumnLinear {
 public:
  // `source` is the whole matrix; the rank keeps its rows. Errors name the matrix.
  static absl::StatusOr<ColumnLinear> Create(kernels::Backend& backend, Communicator& group,
                                             const kernels::MatrixSource& source);
  // out [R, outputs()] = in [R, K] * W^T + bias.
  void Apply(kernels::Stream& stream, const kernels::Tensor& in, const kernels::Tensor& out) const;
  int64_t outputs() const { return weight_->rows(); }  // of this rank
  int64_t bytes() const { return weight_->bytes(); }

 private:
  ColumnLinear(kernels::Backend& backend, std::unique_ptr<kernels::PreparedMatrix> weight)
      : backend_(&backend), weight_(std::move(weight)) {}

  kernels::Backend* backend_;
  std::unique_ptr<kernels::PreparedMatrix> weight_;
};

// As ColumnLinear; the group, too, must outlive the layer, and ranks call in the same order.
class RowLinear {
 public:
  // `source` is the whole matrix with the leaves of the whole K; the rank keeps its leaves.
  static absl::StatusOr<RowLinear> Create(kernels::Backend& backend, Communicator& group,
                                          const kernels::MatrixSource& source);
  // out [R, N] = in [R, inputs()] * W^T + bias, the same on every rank. Fails when the exchange
  // does.
  absl::Status Apply(kernels::Stream& stream, const kernels::Tensor& in,
                     const kernels::Tensor& out) const;
  // residual [R, N] += in [R, inputs()] * W^T + bias, the same on every rank. Fails when the
  // exchange does.
  absl::Status ApplyAdd(kernels::Stream& stream, const kernels::Tensor& in,
                        const kernels::Tensor& residual) const;
  int64_t inputs() const { return weight_->cols(); }  // of this rank
  int64_t bytes() const { return weight_->bytes(); }

 private:
  RowLinear(kernels::Backend& backend, Communicator& group,
            std::unique_ptr<kernels::PreparedMatrix> weight)
      : backend_(&backend), group_(&group), weight_(std::move(weight)) {}

  kernels::Backend* backend_;
  Communicator* group_;
  std::unique_ptr<kernels::PreparedMatrix> weight_;
};

// UNIMPLEMENTED unless the group has one rank.
absl::Status CheckGroupIsBuilt(const Communicator& group);

}  // namespace shoal::parallel
