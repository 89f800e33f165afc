// SPDX-License-Identifier: Apache-2.0
#include "kernels/matmul_fixture.h"

#include <gtest/gtest.h>

#include <bit>
#include <cstring>

namespace shoal::kernels::testing {
namespace {

constexpr int64_t kGroup = 32;

void Append16(uint16_t value, std::vector<uint8_t>& bytes) {
  bytes.push_back(static_cast<uint8_t>(value & 255));
  bytes.push_back(static_cast<uint8_t>(value >> 8));
}

// A half scale or minimum.
uint16_t HalfFor(Data data, Random& random) {
  const auto sign = static_cast<uint16_t>(random.Below(2) << 15);
  const auto mantissa = static_cast<uint16_t>(random.Below(1024));
  switch (data) {
    case Data::kPlain:
    case Data::kExtreme:
      return static_cast<uint16_t>(sign | 8 << 10 | mantissa);  // around 2^-7
    case Data::kTiny:
      return static_cast<uint16_t>(sign | mantissa);  // denormal
    case Data::kSparse:
      return random.Below(3) == 0 ? sign : static_cast<uint16_t>(sign | 9 << 10 | mantissa);
    case Data::kOutlier:
      return static_cast<uint16_t>(sign | 30 << 10 | mantissa);  // 32768 .. 65504
  }
  return 0;
}

uint8_t Int8For(Data data, Random& random) {
  constexpr int8_t kEnds[] = {-128, 127, -127, 127, -128, 1, -1, 0};
  if (data == Data::kExtreme) return static_cast<uint8_t>(kEnds[random.Below(8)]);
  return static_cast<uint8_t>(random.Below(256));
}

uint8_t NibblesFor(Data data, Random& random) {
  constexpr uint8_t kEnds[] = {0xFF, 0x00, 0xF0, 0x0F};
  if (data == Data::kExtreme) return kEnds[random.Below(4)];
  return static_cast<uint8_t>(random.Below(256));
}

float FloatFor(Data data, Random& random) {
  switch (data) {
    case Data::kPlain:
      return random.Signed();
    case Data::kExtreme:
      return random.Below(2) == 0 ? 1.0F : -1.0F;
    case Data::kTiny:
      return random.Signed() * 1e-30F;
    case Data::kSparse:
      return random.Below(2) == 0 ? 0.0F : random.Signed();
    case Data::kOutlier:
      return random.Below(50) == 0 ? random.Signed() * 1e6F : random.Signed();
  }
  return 0;
}

void AppendBytes(int64_t count, bool zeros, Data data, Random& random,
                 std::vector<uint8_t>& bytes) {
  for (int64_t i = 0; i < count; ++i) bytes.push_back(zeros ? 0 : NibblesFor(data, random));
}

// The scales of a K format are a half times a small integer: a smaller half keeps the product in
// range.
uint16_t SuperScaleFor(Data data, Random& random) {
  const uint16_t half = HalfFor(data, random);
  const int exponent = half >> 10 & 31;
  return static_cast<uint16_t>(exponent > 8 ? half - (8 << 10) : half);
}

void AppendBlock(WeightFormat format, Data data, Random& random, std::vector<uint8_t>& bytes) {
  const bool zeros = data == Data::kSparse && random.Below(4) == 0;
  switch (format) {
    case WeightFormat::kF32: {
      const auto bits = std::bit_cast<uint32_t>(FloatFor(data, random));
      for (int i = 0; i < 4; ++i) bytes.push_back(static_cast<uint8_t>(bits >> (8 * i)));
      return;
    }
    case WeightFormat::kBF16:
      Append16(static_cast<uint16_t>(std::bit_cast<uint32_t>(FloatFor(data, random)) >> 16), bytes);
      return;
    case WeightFormat::kF16:
      Append16(HalfFor(data, random), bytes);
      return;
    case WeightFormat::kQ8_0:
      Append16(HalfFor(data, random), bytes);
      for (int i = 0; i < kGroup; ++i) bytes.push_back(zeros ? 0 : Int8For(data, random));
      return;
    case WeightFormat::kQ4_0:
    case WeightFormat::kQ4_1:
    case WeightFormat::kQ5_0:
    case WeightFormat::kQ5_1: {
      const bool minimum = format == WeightFormat::kQ4_1 || format == WeightFormat::kQ5_1;
      const bool fifth = format == WeightFormat::kQ5_0 || format == WeightFormat::kQ5_1;
      Append16(HalfFor(data, random), bytes);
      if (minimum) Append16(HalfFor(data, random), bytes);
      AppendBytes(kGroup / 2 + (fifth ? 4 : 0), zeros, data, random, bytes);
      return;
    }
    case WeightFormat::kQ4_K:
    case WeightFormat::kQ5_K:
      Append16(SuperScaleFor(data, random), bytes);
      Append16(SuperScaleFor(data, random), bytes);
      AppendBytes(12 + 128 + (format == WeightFormat::kQ5_K ? 32 : 0), zeros, data, random, bytes);
      return;
    case WeightFormat::kQ6_K:
      AppendBytes(128 + 64 + 16, zeros, data, random, bytes);
      Append16(SuperScaleFor(data, random), bytes);
      return;
  }
}

}  // namespace

uint64_t Random::Next() {
  state_ += 0x9E3779B97F4A7C15ULL;
  uint64_t z = state_;
  z = (z ^ (z >> 30)) * 0xBF58476D1CE4E5B9ULL;
  z = (z ^ (z >> 27)) * 0x94D049BB133111EBULL;
  return z ^ (z >> 31);
}

float Random::Signed() {
  return static_cast<float>(static_cast<int64_t>(Next() >> 40) - (1 << 23)) * 0x1p-23F;
}

RawMatrix MakeMatrix(WeightFormat format, int64_t rows, int64_t cols, Data data, Random& random) {
  RawMatrix matrix{.format = format, .rows = rows, .cols = cols, .bytes = {}};
  matrix.bytes.reserve(static_cast<size_t>(rows * RowBytes(format, cols)));
  for (int64_t i = 0; i < rows * cols; i += BlockSize(format)) {
    AppendBlock(format, data, random, matrix.bytes);
  }
  return matrix;
}

int64_t WholeBlocks(WeightFormat format, int64_t cols) {
  const int64_t block = BlockSize(format);
  return (cols + block - 1) / block * block;
}

std::vector<float> MakeInputs(int64_t rows, int64_t cols, Data data, Random& random) {
  std::vector<float> inputs(static_cast<size_t>(rows * cols));
  for (size_t i = 0; i < inputs.size(); ++i) {
    const bool zero = data == Data::kSparse && i / 32 % 3 == 0;
    inputs[i] = zero ? 0.0F : FloatFor(data, random);
  }
  return inputs;
}

int64_t Case::rows() const {
  int64_t sum = 0;
  for (const RawMatrix& matrix : matrices) sum += matrix.rows;
  return sum;
}

Case MakeCase(WeightFormat format, Activation activation, int64_t rows, int64_t cols,
              int64_t leaves, Data data, Random& random) {
  cols = WholeBlocks(format, cols);
  Case c;
  c.matrices.push_back(MakeMatrix(format, rows, cols, data, random));
  c.source.name = "test";
  c.source.parts = {c.matrices.front().View()};
  c.source.leaves = MakeLeafPlan(cols, kGroup, leaves);
  c.source.activation = activation;
  return c;
}

std::unique_ptr<cpu::CpuMatrix> Prepare(const MatrixSource& source) {
  auto matrix = cpu::CpuMatrix::Prepare(source);
  EXPECT_TRUE(matrix.ok()) << matrix.status();
  return std::move(*matrix);
}

std::vector<float> Multiply(cpu::Isa isa, int threads, const cpu::CpuMatrix& matrix,
                            const std::vector<float>& inputs, int64_t rows) {
  cpu::CpuStream stream(isa, threads);
  std::vector<float> out(static_cast<size_t>(rows * matrix.rows()), -1.0F);
  const Tensor in(const_cast<float*>(inputs.data()), DType::kF32, {rows, matrix.cols()});
  const Tensor result(out.data(), DType::kF32, {rows, matrix.rows()});
  cpu::MatMul(stream, in, matrix, result, cpu::MatMulResult::kReplace);
  return out;
}

int64_t FirstDifference(const float* a, const float* b, int64_t count) {
  if (std::memcmp(a, b, static_cast<size_t>(count) * sizeof(float)) == 0) return -1;
  for (int64_t i = 0; i < count; ++i) {
    if (std::bit_cast<uint32_t>(a[i]) != std::bit_cast<uint32_t>(b[i])) return i;
  }
  return -1;
}

}  // namespace shoal::kernels::testing
