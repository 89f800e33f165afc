// SPDX-License-Identifier: Apache-2.0
#include "model/blocks/mlp_block.h"

#include <utility>

#include "base/status.h"

namespace shoal::model {

MlpBlock::MlpBlock(kernels::Backend& backend, float norm_eps, std::vector<float> norm,
                   parallel::ColumnLinear gate_up, parallel::RowLinear down)
    : backend_(&backend),
      norm_eps_(norm_eps),
      norm_(std::move(norm)),
      gate_up_(std::move(gate_up)),
      down_(std::move(down)) {}

absl::StatusOr<MlpBlock> MlpBlock::Create(kernels::Backend& backend, parallel::Communicator& group,
                                          const ModelSpec& spec, const LayerWeights& weights,
                                          const LayerSources& sources) {
  SHOAL_ASSIGN_OR_RETURN(parallel::ColumnLinear gate_up,
                         parallel::ColumnLinear::Create(backend, group, sources.gate_up));
  SHOAL_ASSIGN_OR_RETURN(parallel::RowLinear down,
                         parallel::RowLinear::Create(backend, group, sources.down));
  return MlpBlock(backend, spec.norm_eps, ReadVector(weights.mlp_norm), std::move(gate_up),
                  std::move(down));
}

absl::Status MlpBlock::Apply(kernels::Stream& stream, const MlpScratch& scratch,
                             const kernels::Tensor& hidden) const {
  kernels::DenseOps& dense = backend_->dense();
  dense.RmsNorm(stream, hidden, norm_, norm_eps_, scratch.normed);
  gate_up_.Apply(stream, scratch.normed, scratch.gate_up);
  dense.SiluMul(stream, scratch.gate_up, scratch.gated);
  return down_.ApplyAdd(stream, scratch.gated, hidden);
}

int64_t MlpBlock::bytes() const {
  return gate_up_.bytes() + down_.bytes() + static_cast<int64_t>(norm_.size() * sizeof(float));
}

}  // namespace shoal::model
