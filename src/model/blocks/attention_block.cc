// SPDX-License-Identifier: Apache-2.0
#include "model/blocks/attention_block.h"

#include <utility>

#include "base/status.h"
#include "model/blocks/rope_table.h"

namespace shoal::model {

AttentionBlock::AttentionBlock(kernels::Backend& backend, const ModelSpec& spec, size_t layer,
                               std::vector<float> norm, parallel::ColumnLinear qkv,
                               parallel::RowLinear out)
    : backend_(&backend),
      norm_eps_(spec.norm_eps),
      layer_in_group_(spec.layers[layer].layer_in_group),
      rope_(MakeRopeTable(spec.layers[layer].attention.rope)),
      norm_(std::move(norm)),
      qkv_(std::move(qkv)),
      out_(std::move(out)) {
  const AttentionSpec& attention = spec.layers[layer].attention;
  shape_ = {.query_heads = attention.query_heads,
            .kv_heads = attention.kv_heads,
            .head_dim = attention.head_dim,
            .scale = attention.scale,
            .window = attention.window,
            .softcap = attention.softcap};
}

absl::StatusOr<AttentionBlock> AttentionBlock::Create(kernels::Backend& backend,
                                                      parallel::Communicator& group,
                                                      const ModelSpec& spec, size_t layer,
                                                      const LayerWeights& weights,
                                                      const LayerSources& sources) {
  SHOAL_ASSIGN_OR_RETURN(parallel::ColumnLinear qkv,
                         parallel::ColumnLinear::Create(backend, group, sources.qkv));
  SHOAL_ASSIGN_OR_RETURN(parallel::RowLinear out,
                         parallel::RowLinear::Create(backend, group, sources.out));
  return AttentionBlock(backend, spec, layer, ReadVector(weights.attention_norm), std::move(qkv),
                        std::move(out));
}

absl::Status AttentionBlock::Apply(kernels::Stream& stream, const AttentionInput& input,
                                   const AttentionScratch& scratch,
                                   const kernels::Tensor& hidden) const {
  const int64_t q_width = shape_.query_heads * shape_.head_dim;
  const int64_t kv_width = shape_.kv_heads * shape_.head_dim;
  kernels::DenseOps& dense = backend_->dense();
  dense.RmsNorm(stream, hidden, norm_, norm_eps_, scratch.normed);
  qkv_.Apply(stream, scratch.normed, scratch.qkv);
  const kernels::Tensor q = scratch.qkv.Columns(0, q_width);
  const kernels::Tensor k = scratch.qkv.Columns(q_width, kv_width);
  const kernels::Tensor v = scratch.qkv.Columns(q_width + kv_width, kv_width);
  if (!rope_.inv_freq.empty()) {
    // q and k lie side by side: their heads are rotated as one row of heads.
    dense.Rope(stream, rope_, input.positions, shape_.head_dim,
               scratch.qkv.Columns(0, q_width + kv_width));
  }
  kernels::AttentionOps& attention = backend_->attention();
  attention.KvWrite(stream, input.batch, input.pool, layer_in_group_, k, v);
  attention.PagedAttention(stream, input.batch, shape_, input.pool, layer_in_group_, q,
                           scratch.mixed);
  return out_.ApplyAdd(stream, scratch.mixed, hidden);
}

int64_t AttentionBlock::bytes() const {
  return qkv_.bytes() + out_.bytes() + static_cast<int64_t>(norm_.size() * sizeof(float));
}

}  // namespace shoal::model
