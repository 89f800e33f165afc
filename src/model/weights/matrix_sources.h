// SPDX-License-Identifier: Apache-2.0
// What a backend is asked to prepare for each place of a decoder: fused parts, biases and the leaf
// plan (NUMERICS, "Canonical leaves"). Creating a decoder and predicting its bytes both start here.
#pragma once

#include <cstdint>

#include "kernels/weights.h"
#include "model/decoder.h"
#include "model/spec/model_spec.h"
#include "model/weights/model_weights.h"

namespace shoal::model {

struct LayerSources {
  kernels::MatrixSource qkv;      // q, k, v stacked; one leaf
  kernels::MatrixSource out;      // row-parallel: leaves of whole query heads
  kernels::MatrixSource gate_up;  // gate, then up, or up alone; one leaf
  kernels::MatrixSource down;     // row-parallel
};

LayerSources MakeLayerSources(const ModelSpec& spec, const LayerWeights& weights, size_t layer,
                              const NumericsOptions& numerics);
kernels::MatrixSource MakeHeadSource(const ModelWeights& weights, const NumericsOptions& numerics);

// Leaves of the attention output projection: a granule is the fewest whole query heads whose width
// is a multiple of the format's activation block (32 for block formats, else 1).
kernels::LeafPlan AttentionOutputLeaves(kernels::WeightFormat format, int64_t query_heads,
                                        int64_t head_dim, int64_t shards);
// Leaves of the MLP's down projection: a granule is max(32, group) wide for block formats, 32 for
// 16-bit ones, 8 for float32.
kernels::LeafPlan MlpDownLeaves(kernels::WeightFormat format, int64_t intermediate, int64_t shards);

}  // namespace shoal::model
