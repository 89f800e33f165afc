// SPDX-License-Identifier: Apache-2.0
#include "model/weights/matrix_sources.h"

#include <algorithm>
#include <numeric>
#include <string>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"

namespace shoal::model {
namespace {

using kernels::MatrixSource;
using kernels::WeightFormat;

MatrixSource Prepare(std::string name, const LinearWeights& linear, kernels::LeafPlan leaves,
                     const NumericsOptions& numerics) {
  MatrixSource source;
  source.name = std::move(name);
  source.parts = linear.parts;
  source.leaves = std::move(leaves);
  source.activation = kernels::Activation::kF32;
  for (const kernels::WeightView& part : linear.parts) {
    if (kernels::IsBlockQuantised(part.format)) source.activation = numerics.activation;
  }
  for (const kernels::WeightView& part : linear.bias) {
    const std::vector<float> bias = ReadVector(part);
    source.bias.insert(source.bias.end(), bias.begin(), bias.end());
  }
  return source;
}

}  // namespace

kernels::LeafPlan AttentionOutputLeaves(WeightFormat format, int64_t query_heads, int64_t head_dim,
                                        int64_t shards) {
  const int64_t block = kernels::GroupSize(format);
  const int64_t heads = block / std::gcd(block, head_dim);
  return kernels::MakeLeafPlan(query_heads * head_dim, heads * head_dim, shards);
}

kernels::LeafPlan MlpDownLeaves(WeightFormat format, int64_t intermediate, int64_t shards) {
  const int64_t granule =
      format == WeightFormat::kF32 ? 8 : std::max<int64_t>(32, kernels::GroupSize(format));
  return kernels::MakeLeafPlan(intermediate, granule, shards);
}

LayerSources MakeLayerSources(const ModelSpec& spec, const LayerWeights& weights, size_t layer,
                              const NumericsOptions& numerics) {
  const AttentionSpec& attention = spec.layers[layer].attention;
  const std::string prefix = absl::StrCat("layer ", layer, " ");
  LayerSources sources;
  sources.qkv = Prepare(prefix + "qkv", weights.qkv, kernels::SingleLeaf(spec.hidden), numerics);
  sources.out = Prepare(prefix + "attention output", weights.o,
                        AttentionOutputLeaves(weights.o.parts[0].format, attention.query_heads,
                                              attention.head_dim, numerics.shards),
                        numerics);
  sources.gate_up =
      Prepare(prefix + "gate and up", weights.gate_up, kernels::SingleLeaf(spec.hidden), numerics);
  sources.down = Prepare(prefix + "down", weights.down,
                         MlpDownLeaves(weights.down.parts[0].format,
                                       spec.layers[layer].mlp.intermediate, numerics.shards),
                         numerics);
  return sources;
}

MatrixSource MakeHeadSource(const ModelWeights& weights, const NumericsOptions& numerics) {
  const LinearWeights head{.parts = {weights.head}, .bias = {}};
  NumericsOptions floats = numerics;
  floats.activation = kernels::Activation::kF32;
  return Prepare("head", head, kernels::SingleLeaf(weights.head.cols), floats);
}

}  // namespace shoal::model
