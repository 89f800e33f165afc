// SPDX-License-Identifier: Apache-2.0
// How weights are described to a backend before they are prepared, and the leaves of a row-parallel
// matmul (NUMERICS: "Canonical leaves").
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "kernels/tensor.h"

namespace shoal::kernels {

// Element formats of weights as they lie in files. Block formats follow GGUF.
enum class WeightFormat : uint8_t {
  kF32,
  kF16,
  kBF16,
  kQ8_0,
  kQ4_0,
  kQ4_1,
  kQ5_0,
  kQ5_1,
  kQ6_K,
  kQ4_K,
  kQ5_K,
};

const char* Name(WeightFormat format);
// Weights that share a scale (1 for the unquantised formats).
int64_t GroupSize(WeightFormat format);
// Weights of the smallest piece of a file: one group, or 256 weights of the K formats.
int64_t BlockSize(WeightFormat format);
// Bytes of `cols` consecutive weights; cols is a multiple of BlockSize.
int64_t RowBytes(WeightFormat format, int64_t cols);
bool IsBlockQuantised(WeightFormat format);

// Raw bytes of a row-major [rows, cols] matrix in a mapped file. Not owned.
struct WeightView {
  WeightFormat format = WeightFormat::kF32;
  int64_t rows = 0;
  int64_t cols = 0;
  const void* data = nullptr;
};

// Number format that multiplies a block-quantised matrix. Unquantised weights always use float32
// activations.
enum class Activation : uint8_t { kF32, kI8 };

// Borders of the leaves over K: leaf i is columns [borders[i], borders[i+1]). One leaf (0, K) for
// a matmul that is never row-parallel. Each leaf is summed alone; then leaves are combined by
// TreeSum's shape: a range of n leaves is split at ceil(n/2).
struct LeafPlan {
  std::vector<int64_t> borders;
  int64_t leaves() const { return static_cast<int64_t>(borders.size()) - 1; }
};

// G granules of `granule` columns (the last may be short) cut into min(shards, G) leaves, leaf i =
// granules floor(i*G/S) .. floor((i+1)*G/S).
LeafPlan MakeLeafPlan(int64_t cols, int64_t granule, int64_t shards);
LeafPlan SingleLeaf(int64_t cols);

// A matrix to prepare: out = in * W^T + bias, W = `parts` stacked by rows (for example q, k, v),
// all with equal cols. Parts may differ in format. `bias` is empty or one float per row of the
// stack.
struct MatrixSource {
  std::string name;  // for errors: "layer 3 qkv"
  std::vector<WeightView> parts;
  std::vector<float> bias;
  LeafPlan leaves;
  Activation activation = Activation::kF32;
};

// A weight matrix in a backend's own order. Created by Backend::PrepareMatrix, immutable, safe to
// use from any thread. Owns its bytes.
class PreparedMatrix {
 public:
  virtual ~PreparedMatrix() = default;
  virtual int64_t rows() const = 0;  // N: outputs
  virtual int64_t cols() const = 0;  // K: inputs
  virtual int64_t bytes() const = 0;
};

// A [vocabulary, hidden] table that is gathered by row.
class PreparedTable {
 public:
  virtual ~PreparedTable() = default;
  virtual int64_t rows() const = 0;
  virtual int64_t cols() const = 0;
  virtual int64_t bytes() const = 0;
};

}  // namespace shoal::kernels
