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

// A matrix as its parts, stacked by rows; a tensor that holds several matrices gives views of its
// rows.
struct LinearWeights {
  std::vector<kernels::WeightView> parts;
  std::vector<kernels::WeightView> bias;  // [1, n] each, in the order of the parts; or none
};

struct NormWeights {
  kernels::WeightView weight;               // [1, n]
  std::optional<kernels::WeightView> bias;  // [1, n]
};

// What the spec lacks is absent or has no parts.
struct LayerWeights {
  NormWeights attention_norm;
  LinearWeights qkv;                          // q, k, v
  std::optional<NormWeights> q_norm, k_norm;  // [1, head_dim]
  LinearWeights o;
  std::optional<NormWeights> post_attention_norm;
  NormWeights mlp_norm;
  LinearWeights gate_up;  // gate, up; or up alone
  LinearWeights down;
  std::optional<NormWeights> post_mlp_norm;

  // All norms there are.
  std::vector<const NormWeights*> norms() const;
};

struct ModelWeights {
  kernels::WeightView embedding;
  std::optional<NormWeights> embedding_norm;
  std::vector<LayerWeights> layers;
  NormWeights final_norm;
  kernels::WeightView head;  // the embedding's own view when tied
};

// Finds every tensor the spec needs and checks its type and shape; a tensor that is missing, of
// another shape, of a type no backend takes, or unknown to the family is an INVALID_ARGUMENT that
// names it. Views point into the directory's mapping.
absl::StatusOr<ModelWeights> BindWeights(const ModelSpec& spec, const TensorDirectory& directory,
                                         Container container);

// The values of a [1, n] view widened to float32; the view is of an unquantised format.
std::vector<float> ReadVector(const kernels::WeightView& view);

}  // namespace shoal::model
