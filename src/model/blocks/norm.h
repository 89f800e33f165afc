// SPDX-License-Identifier: Apache-2.0
// Norm: a normalisation as a spec describes it, with its weights.
#pragma once

#include <cstdint>
#include <vector>

#include "kernels/backend.h"
#include "model/spec/model_spec.h"
#include "model/weights/model_weights.h"

namespace shoal::model {

// Immutable.
class Norm {
 public:
  Norm(const NormSpec& spec, const NormWeights& weights);
  // out [R, n] = norm(x [R, n]); out may be x.
  void Apply(kernels::DenseOps& dense, kernels::Stream& stream, const kernels::Tensor& x,
             const kernels::Tensor& out) const;
  // Each head of x [R, heads * n] alone, in place; of RMS norms only.
  void ApplyToHeads(kernels::DenseOps& dense, kernels::Stream& stream,
                    const kernels::Tensor& x) const;
  int64_t bytes() const {
    return static_cast<int64_t>((weight_.size() + bias_.size()) * sizeof(float));
  }

 private:
  NormKind kind_;
  float eps_;
  std::vector<float> weight_;
  std::vector<float> bias_;
};

// bytes() of the norm made from these.
int64_t NormBytes(const NormWeights& weights);

}  // namespace shoal::model
