// SPDX-License-Identifier: Apache-2.0
// Decoder: runs any ModelSpec on one rank's weight shard over a kernels::Backend.
#pragma once

#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "kernels/backend.h"
#include "model/spec/model_spec.h"
#include "parallel/communicator.h"
#include "parallel/topology.h"

namespace shoal::model {

// Numeric choices of a replica; part of the numerics profile.
struct NumericsOptions {
  int64_t shards = 24;  // leaves of a row-parallel matmul at most
  // Of block-quantised matrices; unquantised ones always take float32.
  kernels::Activation activation = kernels::Activation::kI8;
  kernels::DType kv_dtype = kernels::DType::kF16;
  // Of models with two sets of rope factors: the set for contexts above the original one. Decided
  // by the context that is served, never by the length of a request: keys that are cached must fit
  // every query that will ever read them.
  bool long_rope = false;
};

struct DecoderOptions {
  NumericsOptions numerics;
  parallel::Topology topology{parallel::Layout{}, 0};
  int64_t max_batch_tokens = 512;  // rows of one Forward at most; sizes the activation arena
  int64_t max_logits_rows = 0;     // rows of logits at most; 0: max_batch_tokens
};

// One Forward: rows of all slices, concatenated in slice order.
struct ForwardInput {
  std::span<const int32_t> tokens;
  std::span<const int32_t> positions;
  // One batch per KV group, same sequences and rows, own block tables.
  std::span<const kernels::AttentionBatch> batches;
  // One pool per KV group.
  std::span<const kernels::KvPool> pools;
  // Rows whose logits are wanted, ascending.
  std::span<const int32_t> logits_rows;
};

// Not thread-safe; the weights inside are immutable.
class Decoder {
 public:
  virtual ~Decoder() = default;
  virtual const ModelSpec& spec() const = 0;
  // [logits_rows, vocab] float32, valid after Synchronize and until the next Forward. Each rank
  // gets the rows it samples; of one rank: all of them. INVALID_ARGUMENT names what is wrong with
  // `input` before anything is computed; later errors are the exchanges' own.
  virtual absl::StatusOr<kernels::Tensor> Forward(kernels::Stream& stream,
                                                  const ForwardInput& input) = 0;
  // Bytes this rank holds, by name: weights, activations.
  virtual std::vector<std::pair<std::string, int64_t>> MemoryUse() const = 0;
};

// A model on disk: a GGUF file or a Hugging Face directory. Memory-mapped; move-only.
class ModelFile {
 public:
  virtual ~ModelFile() = default;
  virtual const ModelSpec& spec() const = 0;
  // Digest of names, types, shapes, sizes and samples of each tensor (hex).
  virtual const std::string& weights_digest() const = 0;
  struct TensorInfo {
    std::string name;
    std::string type;            // "Q4_1", "F32", ...
    std::vector<int64_t> shape;  // outermost first
    int64_t bytes = 0;
  };
  virtual std::vector<TensorInfo> tensors() const = 0;
  // Predicts MemoryUse of a decoder without reading weights.
  virtual absl::StatusOr<std::vector<std::pair<std::string, int64_t>>> PlanMemory(
      const kernels::Backend& backend, const DecoderOptions& options) const = 0;
  virtual absl::StatusOr<std::unique_ptr<Decoder>> CreateDecoder(
      kernels::Backend& backend, parallel::Communicator& tensor_group,
      const DecoderOptions& options) const = 0;
};

// INVALID_ARGUMENT names the file, what is wrong and, for a family that is not built, the families
// that are.
absl::StatusOr<std::unique_ptr<ModelFile>> OpenModel(const std::string& path);

}  // namespace shoal::model
