// SPDX-License-Identifier: Apache-2.0
#include "model/blocks/norm.h"

#include "base/check.h"

namespace shoal::model {

Norm::Norm(const NormSpec& spec, const NormWeights& weights)
    : kind_(spec.kind), eps_(spec.eps), weight_(ReadVector(weights.weight)) {
  if (spec.offset != 0) {
    for (float& value : weight_) value += spec.offset;
  }
  if (weights.bias.has_value()) bias_ = ReadVector(*weights.bias);
}

void Norm::Apply(kernels::DenseOps& dense, kernels::Stream& stream, const kernels::Tensor& x,
                 const kernels::Tensor& out) const {
  if (kind_ == NormKind::kLayer) {
    dense.LayerNorm(stream, x, weight_, bias_, eps_, out);
  } else {
    dense.RmsNorm(stream, x, weight_, eps_, out);
  }
}

void Norm::ApplyToHeads(kernels::DenseOps& dense, kernels::Stream& stream,
                        const kernels::Tensor& x) const {
  SHOAL_CHECK(kind_ == NormKind::kRms);
  dense.HeadRmsNorm(stream, x, weight_, eps_, x);
}

int64_t NormBytes(const NormWeights& weights) {
  const int64_t bias = weights.bias.has_value() ? weights.bias->cols : 0;
  return (weights.weight.cols + bias) * static_cast<int64_t>(sizeof(float));
}

}  // namespace shoal::model
