// SPDX-License-Identifier: Apache-2.0
// Weights as they lie in files, inputs and outputs for matmul tests, all from a seed.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "kernels/cpu/cpu_stream.h"
#include "kernels/cpu/isa.h"
#include "kernels/cpu/matmul/matmul.h"
#include "kernels/weights.h"

namespace shoal::kernels::testing {

inline constexpr WeightFormat kAllFormats[] = {
    WeightFormat::kF32,  WeightFormat::kF16,  WeightFormat::kBF16, WeightFormat::kQ8_0,
    WeightFormat::kQ4_0, WeightFormat::kQ4_1, WeightFormat::kQ5_0, WeightFormat::kQ5_1,
    WeightFormat::kQ6_K, WeightFormat::kQ4_K, WeightFormat::kQ5_K};

// `cols`, or the next number of columns that whole blocks of the format give.
int64_t WholeBlocks(WeightFormat format, int64_t cols);

// SplitMix64.
class Random {
 public:
  explicit Random(uint64_t seed) : state_(seed) {}
  uint64_t Next();
  uint64_t Below(uint64_t bound) { return Next() % bound; }
  // Uniform in [-1, 1).
  float Signed();

 private:
  uint64_t state_;
};

// What the numbers look like.
//   kPlain      like a model's
//   kExtreme    integers at both ends of their range (-128, +-127, 0, 15), inputs of equal
//   magnitude kTiny       scales among the half denormals, both signs, inputs around 1e-30 kSparse
//   zero groups, zero and negative zero scales kOutlier    scales near 6e4 and inputs of 1e6 among
//   small ones
enum class Data { kPlain, kExtreme, kTiny, kSparse, kOutlier };
inline constexpr Data kAllData[] = {Data::kPlain, Data::kExtreme, Data::kTiny, Data::kSparse,
                                    Data::kOutlier};

// An owned WeightView.
struct RawMatrix {
  WeightFormat format;
  int64_t rows;
  int64_t cols;
  std::vector<uint8_t> bytes;
  WeightView View() const { return {format, rows, cols, bytes.data()}; }
};
RawMatrix MakeMatrix(WeightFormat format, int64_t rows, int64_t cols, Data data, Random& random);

// [rows, cols] floats.
std::vector<float> MakeInputs(int64_t rows, int64_t cols, Data data, Random& random);

struct Case {
  MatrixSource source;  // views into `matrices`
  std::vector<RawMatrix> matrices;
  int64_t rows() const;
  int64_t cols() const { return matrices.front().cols; }
};
// One part; `leaves` as MakeLeafPlan(cols, 32, leaves) gives them. `cols` grows to WholeBlocks.
Case MakeCase(WeightFormat format, Activation activation, int64_t rows, int64_t cols,
              int64_t leaves, Data data, Random& random);

// Prepares or dies.
std::unique_ptr<cpu::CpuMatrix> Prepare(const MatrixSource& source);

// The first `rows` rows of inputs times the matrix on a fresh stream; row-major [rows, N].
std::vector<float> Multiply(cpu::Isa isa, int threads, const cpu::CpuMatrix& matrix,
                            const std::vector<float>& inputs, int64_t rows);

// Index of the first element among the first `count` whose bits differ, or -1.
int64_t FirstDifference(const float* a, const float* b, int64_t count);

}  // namespace shoal::kernels::testing
