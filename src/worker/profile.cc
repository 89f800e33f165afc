// SPDX-License-Identifier: Apache-2.0
#include "worker/profile.h"

#include <algorithm>

#include "absl/strings/str_cat.h"
#include "base/hash.h"
#include "base/status.h"
#include "kernels/attention.h"
#include "kernels/backend.h"

namespace shoal::worker {
namespace {

constexpr int64_t kCpuShards = 24;

bool HasBlockQuantisedMatrix(const model::ModelFile& model) {
  for (const model::ModelFile::TensorInfo& tensor : model.tensors()) {
    if (!tensor.type.empty() && tensor.type[0] == 'Q') return true;
  }
  return false;
}

}  // namespace

absl::StatusOr<model::NumericsOptions> ResolveNumerics(const model::ModelFile& model,
                                                       const config::ReplicaConfig& replica) {
  model::NumericsOptions options;
  options.shards = replica.numerics.shards > 0 ? replica.numerics.shards : kCpuShards;
  const std::string& activation = replica.numerics.activation;
  if (activation == "float32") {
    options.activation = kernels::Activation::kF32;
  } else if (activation == "int8") {
    options.activation = kernels::Activation::kI8;
  } else if (activation == "auto") {
    options.activation =
        HasBlockQuantisedMatrix(model) ? kernels::Activation::kI8 : kernels::Activation::kF32;
  } else {
    return absl::InvalidArgumentError(
        absl::StrCat("numerics.activation '", activation, "' is not one of auto, float32, int8"));
  }
  const std::string& dtype = replica.engine.kv.dtype;
  if (dtype == "float32") {
    options.kv_dtype = kernels::DType::kF32;
  } else if (dtype == "float16") {
    options.kv_dtype = kernels::DType::kF16;
  } else if (dtype == "auto") {
    options.kv_dtype = options.activation == kernels::Activation::kF32 ? kernels::DType::kF32
                                                                       : kernels::DType::kF16;
  } else {
    return absl::InvalidArgumentError(
        absl::StrCat("engine.kv.dtype '", dtype, "' is not one of auto, float32, float16"));
  }
  SHOAL_ASSIGN_OR_RETURN(const int32_t context, ResolveContext(replica.engine, model.spec()));
  for (const model::LayerSpec& layer : model.spec().layers) {
    const model::RopeSpec& rope = layer.attention.rope;
    if (!rope.long_freq_factors.empty() && context > rope.original_context) {
      options.long_rope = true;
    }
  }
  return options;
}

std::string SystemFingerprint(const std::string& weights_digest, const std::string& device,
                              const model::NumericsOptions& numerics) {
  const std::string profile = absl::StrCat(
      "weights=", weights_digest, ";numerics=", kernels::kNumericsVersion, ";device=", device,
      ";shards=", numerics.shards, ";activation=", static_cast<int>(numerics.activation),
      ";kv=", kernels::Name(numerics.kv_dtype), ";kv_layout=", kernels::kKvLayoutVersion,
      numerics.long_rope ? ";long_rope" : "");
  constexpr size_t kDigits = 16;
  return absl::StrCat("fp_", Sha256Hex(profile).substr(0, kDigits));
}

int32_t LogitsRowsMax(const config::EngineConfig& engine) {
  constexpr int32_t kScoredRows = 128;  // more saves nothing: a step is bound by arithmetic by then
  const int32_t sequences = std::min(engine.max_sequences, engine.max_batch_tokens);
  return std::min(sequences + kScoredRows, engine.max_batch_tokens);
}

absl::StatusOr<int32_t> ResolveContext(const config::EngineConfig& engine,
                                       const model::ModelSpec& spec) {
  if (engine.max_context > spec.context) {
    return absl::InvalidArgumentError(
        absl::StrCat("engine.max_context ", engine.max_context,
                     " exceeds the context the model was trained for, ", spec.context));
  }
  return engine.max_context > 0 ? engine.max_context : static_cast<int32_t>(spec.context);
}

}  // namespace shoal::worker
