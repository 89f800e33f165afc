// SPDX-License-Identifier: Apache-2.0
// AttentionBlock: norm, q/k/v projection, norms of q and k, rope, KV write, paged attention, output
// projection and its norm, added to the residual stream. The spec says which of the norms there
// are.
#pragma once

#include <cstdint>
#include <optional>
#include <span>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "kernels/backend.h"
#include "model/blocks/norm.h"
#include "model/spec/model_spec.h"
#include "model/weights/matrix_sources.h"
#include "parallel/layers/linear.h"

namespace shoal::model {

// One step's rows as an attention block sees them.
struct AttentionInput {
  std::span<const int32_t> positions;    // one per row
  const kernels::AttentionBatch& batch;  // of the block's KV group
  const kernels::KvPool& pool;           // of the block's KV group
};

// Scratch of at least the widths the block asks for, one row per row of the step.
struct AttentionScratch {
  kernels::Tensor normed;  // [R, hidden]
  kernels::Tensor qkv;     // [R, (query + 2 * kv heads) * head_dim]
  kernels::Tensor mixed;   // [R, query heads * head_dim]
};

// Immutable; the backend and the group must outlive it.
class AttentionBlock {
 public:
  // `long_rope`: see NumericsOptions.
  static absl::StatusOr<AttentionBlock> Create(kernels::Backend& backend,
                                               parallel::Communicator& group, const ModelSpec& spec,
                                               size_t layer, bool long_rope,
                                               const LayerWeights& weights,
                                               const LayerSources& sources);
  // hidden [R, hidden] += attention(norm(hidden)). Fails when an exchange between ranks does.
  absl::Status Apply(kernels::Stream& stream, const AttentionInput& input,
                     const AttentionScratch& scratch, const kernels::Tensor& hidden) const;
  int64_t bytes() const;

 private:
  AttentionBlock(kernels::Backend& backend, const ModelSpec& spec, size_t layer, bool long_rope,
                 const LayerWeights& weights, parallel::ColumnLinear qkv, parallel::RowLinear out);

  kernels::Backend* backend_;
  int64_t layer_in_group_;
  kernels::AttentionShape shape_;
  kernels::RopeTable rope_;
  Norm norm_;
  std::optional<Norm> q_norm_, k_norm_, post_norm_;
  parallel::ColumnLinear qkv_;
  parallel::RowLinear out_;
};

}  // namespace shoal::model
