// SPDX-License-Identifier: Apache-2.0
#include "model/blocks/mlp_block.h"

#include <utility>

#include "base/status.h"

namespace shoal::model {

MlpBlock::MlpBlock(kernels::Backend& backend, const MlpSpec& spec, Norm norm,
                   parallel::ColumnLinear gate_up, parallel::RowLinear down,
                   std::optional<Norm> post_norm)
    : backend_(&backend),
      gated_(spec.gated),
      activation_(spec.activation),
      norm_(std::move(norm)),
      post_norm_(std::move(post_norm)),
      gate_up_(std::move(gate_up)),
      down_(std::move(down)) {}

absl::StatusOr<MlpBlock> MlpBlock::Create(kernels::Backend& backend, parallel::Communicator& group,
                                          const ModelSpec& spec, size_t layer,
                                          const LayerWeights& weights,
                                          const LayerSources& sources) {
  SHOAL_ASSIGN_OR_RETURN(parallel::ColumnLinear gate_up,
                         parallel::ColumnLinear::Create(backend, group, sources.gate_up));
  SHOAL_ASSIGN_OR_RETURN(parallel::RowLinear down,
                         parallel::RowLinear::Create(backend, group, sources.down));
  std::optional<Norm> post_norm;
  if (weights.post_mlp_norm.has_value()) post_norm.emplace(spec.norm, *weights.post_mlp_norm);
  return MlpBlock(backend, spec.layers[layer].mlp, Norm(spec.norm, weights.mlp_norm),
                  std::move(gate_up), std::move(down), std::move(post_norm));
}

absl::Status MlpBlock::Apply(kernels::Stream& stream, const MlpScratch& scratch,
                             const kernels::Tensor& hidden) const {
  kernels::DenseOps& dense = backend_->dense();
  norm_.Apply(dense, stream, hidden, scratch.normed);
  if (!gated_) {
    gate_up_.Apply(stream, scratch.normed, scratch.gated);
    dense.Gelu(stream, scratch.gated);
  } else {
    gate_up_.Apply(stream, scratch.normed, scratch.gate_up);
    if (activation_ == MlpActivation::kSilu) {
      dense.SiluMul(stream, scratch.gate_up, scratch.gated);
    } else {
      dense.GeluMul(stream, scratch.gate_up, scratch.gated);
    }
  }
  if (!post_norm_.has_value()) return down_.ApplyAdd(stream, scratch.gated, hidden);
  SHOAL_RETURN_IF_ERROR(down_.Apply(stream, scratch.gated, scratch.normed));
  post_norm_->Apply(dense, stream, scratch.normed, scratch.normed);
  dense.Add(stream, scratch.normed, hidden);
  return absl::OkStatus();
}

int64_t MlpBlock::bytes() const {
  const int64_t post = post_norm_.has_value() ? post_norm_->bytes() : 0;
  return gate_up_.bytes() + down_.bytes() + norm_.bytes() + post;
}

}  // namespace shoal::model
