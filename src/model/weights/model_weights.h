// SPDX-License-Identifier: Apache-2.0
// ModelWeights: the tensors of a file bound to their places in a decoder, as views; nothing is
// copied or prepared yet.
#pragma once

#include <optional>
#include <vector>

#include "absl/status/statusor.h"
#include "kernels/weights.h"
#include "model/families/family.h"
#include "model/spec/model_spec.h"
#include "model/weights/tensor_directory.h"

namespace shoal::model {

struct LinearWeights {
  kernels::WeightView weight;
  std::optional<kernels::WeightView> bias;  // [1, rows]
};

struct LayerWeights {
  kernels::WeightView attention_norm;  // [1, hidden]
  LinearWeights q, k, v, o;
  kernels::WeightView mlp_norm;  // [1, hidden]
  LinearWeights gate, up, down;
};

struct ModelWeights {
  kernels::WeightView embedding;
  std::vector<LayerWeights> layers;
  kernels::WeightView final_norm;  // [1, hidden]
  kernels::WeightView head;        // the embedding's own view when tied
};

// Finds every tensor the spec needs and checks its type and shape; a tensor that is missing, of
// another shape, of a type no backend takes, or unknown to the family is an INVALID_ARGUMENT that
// names it. Views point into the directory's mapping.
absl::StatusOr<ModelWeights> BindWeights(const ModelSpec& spec, const TensorDirectory& directory,
                                         Container container);

// The values of a [1, n] view widened to float32; the view is of an unquantised format.
std::vector<float> ReadVector(const kernels::WeightView& view);

}  // namespace shoal::model
