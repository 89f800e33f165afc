// SPDX-License-Identifier: Apache-2.0
#include "model/blocks/attention_block.h"

#include <utility>

#include "base/status.h"
#include "model/blocks/rope_table.h"

namespace shoal::model {
namespace {

std::optional<Norm> MakeNorm(const NormSpec& spec, const std::optional<NormWeights>& weights) {
  if (!weights.has_value()) return std::nullopt;
  return Norm(spec, *weights);
}

}  // namespace

AttentionBlock::AttentionBlock(kernels::Backend& backend, const ModelSpec& spec, size_t layer,
                               bool long_rope, const LayerWeights& weights,
                               parallel::ColumnLinear qkv, parallel::RowLinear out)
    : backend_(&backend),
      layer_in_group_(spec.layers[layer].layer_in_group),
      rope_(MakeRopeTable(spec.layers[layer].attention.rope, long_rope)),
      norm_(spec.norm, weights.attention_norm),
      q_norm_(MakeNorm(spec.norm, weights.q_norm)),
      k_norm_(MakeNorm(spec.norm, weights.k_norm)),
      post_norm_(MakeNorm(spec.norm, weights.post_attention_norm)),
      qkv_(std::move(qkv)),
      out_(std::move(out)) {
  const AttentionSpec& attention = spec.layers[layer].attention;
  shape_ = {.query_heads = attention.query_heads,
            .kv_heads = attention.kv_heads,
            .head_dim = attention.head_dim,
            .scale = attention.scale,
            .window = attention.window,
            .softcap = attention.softcap};
  if (attention.alibi) shape_.slopes = AlibiSlopes(attention.query_heads);
}

absl::StatusOr<AttentionBlock> AttentionBlock::Create(kernels::Backend& backend,
                                                      parallel::Communicator& group,
                                                      const ModelSpec& spec, size_t layer,
                                                      bool long_rope, const LayerWeights& weights,
                                                      const LayerSources& sources) {
  SHOAL_ASSIGN_OR_RETURN(parallel::ColumnLinear qkv,
                         parallel::ColumnLinear::Create(backend, group, sources.qkv));
  SHOAL_ASSIGN_OR_RETURN(parallel::RowLinear out,
                         parallel::RowLinear::Create(backend, group, sources.out));
  return AttentionBlock(backend, spec, layer, long_rope, weights, std::move(qkv), std::move(out));
}

absl::Status AttentionBlock::Apply(kernels::Stream& stream, const AttentionInput& input,
                                   const AttentionScratch& scratch,
                                   const kernels::Tensor& hidden) const {
  const int64_t q_width = shape_.query_heads * shape_.head_dim;
  const int64_t kv_width = shape_.kv_heads * shape_.head_dim;
  kernels::DenseOps& dense = backend_->dense();
  norm_.Apply(dense, stream, hidden, scratch.normed);
  qkv_.Apply(stream, scratch.normed, scratch.qkv);
  const kernels::Tensor q = scratch.qkv.Columns(0, q_width);
  const kernels::Tensor k = scratch.qkv.Columns(q_width, kv_width);
  const kernels::Tensor v = scratch.qkv.Columns(q_width + kv_width, kv_width);
  if (q_norm_.has_value()) q_norm_->ApplyToHeads(dense, stream, q);
  if (k_norm_.has_value()) k_norm_->ApplyToHeads(dense, stream, k);
  if (!rope_.inv_freq.empty()) {
    // q and k lie side by side: their heads are rotated as one row of heads.
    dense.Rope(stream, rope_, input.positions, shape_.head_dim,
               scratch.qkv.Columns(0, q_width + kv_width));
  }
  kernels::AttentionOps& attention = backend_->attention();
  attention.KvWrite(stream, input.batch, input.pool, layer_in_group_, k, v);
  attention.PagedAttention(stream, input.batch, shape_, input.pool, layer_in_group_, q,
                           scratch.mixed);
  if (!post_norm_.has_value()) return out_.ApplyAdd(stream, scratch.mixed, hidden);
  SHOAL_RETURN_IF_ERROR(out_.Apply(stream, scratch.mixed, scratch.normed));
  post_norm_->Apply(dense, stream, scratch.normed, scratch.normed);
  dense.Add(stream, scratch.normed, hidden);
  return absl::OkStatus();
}

int64_t AttentionBlock::bytes() const {
  int64_t bytes = qkv_.bytes() + out_.bytes() + norm_.bytes();
  for (const std::optional<Norm>* norm : {&q_norm_, &k_norm_, &post_norm_}) {
    if (norm->has_value()) bytes += (*norm)->bytes();
  }
  return bytes;
}

}  // namespace shoal::model
