// SPDX-License-Identifier: Apache-2.0
// The op interface a decoder is written against. Backends: `reference` (float64 loops; judges by
// tolerance), `cpu` (bits defined by cpu/portable and equal on every instruction set).
//
// Shapes: R rows (tokens of a step), H hidden, N outputs. Tensors are row-major and float32 unless
// an op says otherwise. Ops on one Stream run in order; a Stream is used by one thread at a time.
// Shapes are the caller's contract (checked with SHOAL_CHECK); ops cannot fail otherwise, except
// for device errors, which Synchronize reports. Results never depend on R, on the other rows, on
// the number of threads or on the instruction set.
#pragma once

#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "kernels/attention.h"
#include "kernels/sampling.h"
#include "kernels/tensor.h"
#include "kernels/weights.h"

namespace shoal::kernels {

// Bumped by any change of the bits of an exact backend.
inline constexpr int kNumericsVersion = 1;

// Zero-initialised, 64-byte aligned memory of a device, owned. `name` appears in memory reports.
class Arena {
 public:
  virtual ~Arena() = default;
  virtual uint8_t* data() const = 0;
  virtual int64_t bytes() const = 0;
  virtual const std::string& name() const = 0;
};

// An ordered queue of ops with its compute threads and scratch.
class Stream {
 public:
  virtual ~Stream() = default;
  // Waits for all ops so far.
  virtual absl::Status Synchronize() = 0;
};

// What a dense decoder needs.
class DenseOps {
 public:
  virtual ~DenseOps() = default;

  // out[r] = table[tokens[r]] * scale. tokens in [0, table rows).
  virtual void Embed(Stream& stream, const PreparedTable& table, std::span<const int32_t> tokens,
                     float scale, const Tensor& out) = 0;
  // out[r] = x[r] / sqrt(mean(x[r]^2) + eps) * weight. out may be x.
  virtual void RmsNorm(Stream& stream, const Tensor& x, std::span<const float> weight, float eps,
                       const Tensor& out) = 0;
  // out[r] = (x[r] - mean(x[r])) / sqrt(variance(x[r]) + eps) * weight + bias; an empty bias adds
  // nothing. out may be x.
  virtual void LayerNorm(Stream& stream, const Tensor& x, std::span<const float> weight,
                         std::span<const float> bias, float eps, const Tensor& out) = 0;
  // RmsNorm applied to each head of [R, heads * head_dim] alone; weight has head_dim values.
  virtual void HeadRmsNorm(Stream& stream, const Tensor& x, std::span<const float> weight,
                           float eps, const Tensor& out) = 0;
  // out [R, N] = in [R, K] * W^T + bias.
  virtual void MatMul(Stream& stream, const Tensor& in, const PreparedMatrix& weight,
                      const Tensor& out) = 0;
  // Partials of a row-parallel matmul: runs all leaves and their whole tree, as one rank does, and
  // adds the result to the residual: residual [R, N] += (in * W^T) + bias.
  virtual void MatMulAdd(Stream& stream, const Tensor& in, const PreparedMatrix& weight,
                         const Tensor& residual) = 0;
  // Rotates `heads` heads of x [R, heads * head_dim] in place; positions[r] is absolute.
  virtual void Rope(Stream& stream, const RopeTable& table, std::span<const int32_t> positions,
                    int64_t head_dim, const Tensor& x) = 0;
  // gate_up [R, 2I] (gate first) -> out [R, I] = silu(gate) * up.
  virtual void SiluMul(Stream& stream, const Tensor& gate_up, const Tensor& out) = 0;
  // gate_up [R, 2I] (gate first) -> out [R, I] = gelu(gate) * up, the tanh form of GELU.
  virtual void GeluMul(Stream& stream, const Tensor& gate_up, const Tensor& out) = 0;
  // x = gelu(x), the tanh form.
  virtual void Gelu(Stream& stream, const Tensor& x) = 0;
  // x = cap * tanh(x / cap), cap > 0.
  virtual void Softcap(Stream& stream, float cap, const Tensor& x) = 0;
  // x += y.
  virtual void Add(Stream& stream, const Tensor& y, const Tensor& x) = 0;
  // out[i] = x[rows[i]].
  virtual void GatherRows(Stream& stream, const Tensor& x, std::span<const int32_t> rows,
                          const Tensor& out) = 0;
};

// KV cache and attention.
class AttentionOps {
 public:
  virtual ~AttentionOps() = default;

  // Rounds k and v [R, kv_heads * head_dim] to the pool's dtype and stores them for `layer` (index
  // within the group) at the batch's positions.
  virtual void KvWrite(Stream& stream, const AttentionBatch& batch, const KvPool& pool,
                       int64_t layer, const Tensor& k, const Tensor& v) = 0;
  // out [R, query_heads * head_dim]: causal attention of q over the keys in the pool, prefill and
  // decode rows in one call. Keys and values are read back from the pool, also those of this step.
  virtual void PagedAttention(Stream& stream, const AttentionBatch& batch,
                              const AttentionShape& shape, const KvPool& pool, int64_t layer,
                              const Tensor& q, const Tensor& out) = 0;
};

// From logits to tokens.
class SamplingOps {
 public:
  virtual ~SamplingOps() = default;
  // One result per request row, in order. logits [R, V] float32.
  virtual std::vector<SampledToken> Sample(Stream& stream, const Tensor& logits,
                                           std::span<const SampleRow> rows) = 0;
};

struct StreamOptions {
  int threads = 1;
};

// Thread-safe except where a Stream is passed.
class Backend {
 public:
  virtual ~Backend() = default;
  // "cpu avx512" and the like: what `shoal --version` and the profile show.
  virtual std::string Describe() const = 0;
  virtual absl::StatusOr<std::unique_ptr<Arena>> Allocate(std::string name, int64_t bytes) = 0;
  virtual absl::StatusOr<std::unique_ptr<Stream>> CreateStream(const StreamOptions& options) = 0;
  // Refuses what it cannot run exactly: infinite or NaN scales, leaf borders inside a group,
  // formats it lacks. The source's bytes are not needed afterwards.
  virtual absl::StatusOr<std::unique_ptr<PreparedMatrix>> PrepareMatrix(
      const MatrixSource& source) = 0;
  // A table and a matrix made from the same view (a tied head) may share bytes: pass the matrix.
  virtual absl::StatusOr<std::unique_ptr<PreparedTable>> PrepareTable(const WeightView& view) = 0;
  // Bytes PrepareMatrix would own, without reading the weights.
  virtual int64_t PreparedBytes(const MatrixSource& source) const = 0;
  // Bytes PrepareTable would own, without reading the weights.
  virtual int64_t PreparedTableBytes(const WeightView& view) const = 0;

  virtual DenseOps& dense() = 0;
  virtual AttentionOps& attention() = 0;
  virtual SamplingOps& sampling() = 0;
};

// "reference" or "cpu". The cpu backend picks the best instruction set the machine has, or the one
// SHOAL_ISA names (portable | avx2 | avx512 | amx); an ISA the machine lacks is an error.
absl::StatusOr<std::unique_ptr<Backend>> CreateBackend(const std::string& name);

// How often each kernel variant ran in this process ("matmul q4_1 amx", ...): the exactness suite
// proves with it that every variant was exercised.
struct VariantCount {
  std::string name;
  int64_t calls = 0;
};
std::vector<VariantCount> VariantCounts();

}  // namespace shoal::kernels
