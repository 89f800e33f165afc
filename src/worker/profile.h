// SPDX-License-Identifier: Apache-2.0
// The numerics profile of a replica: what its answers' bits depend on (NUMERICS, "Profile").
#pragma once

#include <string>

#include "absl/status/statusor.h"
#include "base/config/cluster_config.h"
#include "model/decoder.h"

namespace shoal::worker {

// Turns `auto` into values. activation: int8 when a matrix of the model is block-quantised, else
// float32. engine.kv.dtype: float32 with float32 activations, else float16. INVALID_ARGUMENT names
// the key of a value that is not known.
absl::StatusOr<model::NumericsOptions> ResolveNumerics(const model::ModelFile& model,
                                                       const config::ReplicaConfig& replica);

// "fp_" and 16 hex digits. Equal for equal bits: neither the instruction set nor the number of
// threads or ranks is part of it.
std::string SystemFingerprint(const std::string& weights_digest, const std::string& device,
                              const model::NumericsOptions& numerics);

// Rows of logits that a step of the engine can need: one for each running sequence, and a bounded
// number for prompts that are scored, which are then scored in several steps.
int32_t LogitsRowsMax(const config::EngineConfig& engine);

// engine.max_context, or the model's where it is 0. INVALID_ARGUMENT when it exceeds the model's.
absl::StatusOr<int32_t> ResolveContext(const config::EngineConfig& engine,
                                       const model::ModelSpec& spec);

}  // namespace shoal::worker
