// SPDX-License-Identifier: Apache-2.0
// MlpBlock: norm, gate and up projection (or up alone), activation, down projection and its norm
// where the spec has one, added to the residual stream.
#pragma once

#include <cstdint>
#include <optional>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "kernels/backend.h"
#include "model/blocks/norm.h"
#include "model/spec/model_spec.h"
#include "model/weights/matrix_sources.h"
#include "parallel/layers/linear.h"

namespace shoal::model {

// Scratch of at least the widths the block asks for, one row per row of the step.
struct MlpScratch {
  kernels::Tensor normed;   // [R, hidden]
  kernels::Tensor gate_up;  // [R, 2 * intermediate]; not used without a gate
  kernels::Tensor gated;    // [R, intermediate]
};

// Immutable; the backend and the group must outlive it.
class MlpBlock {
 public:
  static absl::StatusOr<MlpBlock> Create(kernels::Backend& backend, parallel::Communicator& group,
                                         const ModelSpec& spec, size_t layer,
                                         const LayerWeights& weights, const LayerSources& sources);
  // hidden [R, hidden] += mlp(norm(hidden)). Fails when an exchange between ranks does.
  absl::Status Apply(kernels::Stream& stream, const MlpScratch& scratch,
                     const kernels::Tensor& hidden) const;
  int64_t bytes() const;

 private:
  MlpBlock(kernels::Backend& backend, const MlpSpec& spec, Norm norm,
           parallel::ColumnLinear gate_up, parallel::RowLinear down, std::optional<Norm> post_norm);

  kernels::Backend* backend_;
  bool gated_;
  MlpActivation activation_;
  Norm norm_;
  std::optional<Norm> post_norm_;
  parallel::ColumnLinear gate_up_;
  parallel::RowLinear down_;
};

}  // namespace shoal::model
