// SPDX-License-Identifier: Apache-2.0
#include "parallel/layers/linear.h"

#include <utility>

#include "absl/strings/str_cat.h"
#include "base/check.h"
#include "base/status.h"

namespace shoal::parallel {

absl::Status CheckGroupIsBuilt(const Communicator& group) {
  if (group.size() == 1) return absl::OkStatus();
  return absl::UnimplementedError(absl::StrCat("parallel.tensor: a group of ", group.size(),
                                               " ranks is not available yet; use 1"));
}

absl::StatusOr<ColumnLinear> ColumnLinear::Create(kernels::Backend& backend, Communicator& group,
                                                  const kernels::MatrixSource& source) {
  SHOAL_RETURN_IF_ERROR(CheckGroupIsBuilt(group));
  auto weight = backend.PrepareMatrix(source);
  if (!weight.ok()) return Annotate(weight.status(), source.name);
  return ColumnLinear(backend, *std::move(weight));
}

void ColumnLinear::Apply(kernels::Stream& stream, const kernels::Tensor& in,
                         const kernels::Tensor& out) const {
  backend_->dense().MatMul(stream, in, *weight_, out);
}

absl::StatusOr<RowLinear> RowLinear::Create(kernels::Backend& backend, Communicator& group,
                                            const kernels::MatrixSource& source) {
  SHOAL_RETURN_IF_ERROR(CheckGroupIsBuilt(group));
  auto weight = backend.PrepareMatrix(source);
  if (!weight.ok()) return Annotate(weight.status(), source.name);
  return RowLinear(backend, group, *std::move(weight));
}

absl::Status RowLinear::Apply(kernels::Stream& stream, const kernels::Tensor& in,
                              const kernels::Tensor& out) const {
  SHOAL_CHECK(group_->size() == 1);
  backend_->dense().MatMul(stream, in, *weight_, out);
  return absl::OkStatus();
}

absl::Status RowLinear::ApplyAdd(kernels::Stream& stream, const kernels::Tensor& in,
                                 const kernels::Tensor& residual) const {
  // All leaves are here, so the tree is finished here. (Create has refused other groups.)
  SHOAL_CHECK(group_->size() == 1);
  backend_->dense().MatMulAdd(stream, in, *weight_, residual);
  return absl::OkStatus();
}

}  // namespace shoal::parallel
