// SPDX-License-Identifier: Apache-2.0
// The one decoder: a straight line of blocks over the residual stream.
#pragma once

#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "absl/status/statusor.h"
#include "model/activations.h"
#include "model/blocks/attention_block.h"
#include "model/blocks/mlp_block.h"
#include "model/blocks/norm.h"
#include "model/decoder.h"
#include "model/weights/model_weights.h"
#include "parallel/layers/vocabulary.h"

namespace shoal::model {

// Prepares all weights of one rank, layer by layer, and lets go of the mapped pages behind it.
// Errors name the matrix or the option at fault.
absl::StatusOr<std::unique_ptr<Decoder>> CreateDecoderImpl(kernels::Backend& backend,
                                                           parallel::Communicator& tensor_group,
                                                           const ModelSpec& spec,
                                                           const ModelWeights& weights,
                                                           const DecoderOptions& options);

// What MemoryUse of that decoder will say, without reading weights.
absl::StatusOr<std::vector<std::pair<std::string, int64_t>>> PlanDecoderMemory(
    const kernels::Backend& backend, const ModelSpec& spec, const ModelWeights& weights,
    const DecoderOptions& options);

}  // namespace shoal::model
