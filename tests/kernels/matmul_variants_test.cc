// SPDX-License-Identifier: Apache-2.0
// Every instruction set of this machine gives the bits of the portable kernels.
#include <gtest/gtest.h>

#include <set>
#include <string>

#include "kernels/backend.h"
#include "kernels/cpu/matmul/block_group.h"
#include "kernels/matmul_fixture.h"

namespace shoal::kernels::testing {
namespace {

using cpu::Isa;

#ifdef __SANITIZE_ADDRESS__
constexpr int64_t kLargestBatch = 65;  // the portable kernels would take minutes
#else
constexpr int64_t kLargestBatch = 512;
#endif

// Batch sizes around every threshold of the kernels: panels of 1, 2, 4, 8 and 16, AMX from 25 on.
std::vector<int64_t> BatchSizes() {
  std::vector<int64_t> sizes;
  for (int64_t m = 1; m <= 40; ++m) sizes.push_back(m);
  for (const int64_t m : {63, 64, 65, 512}) {
    if (m <= kLargestBatch) sizes.push_back(m);
  }
  return sizes;
}

struct Kind {
  WeightFormat format;
  Activation activation;
};

std::vector<Kind> AllKinds() {
  std::vector<Kind> kinds;
  for (const WeightFormat format : kAllFormats) {
    kinds.push_back({format, Activation::kF32});
    if (IsBlockQuantised(format)) kinds.push_back({format, Activation::kI8});
  }
  return kinds;
}

std::string Describe(Kind kind, Isa isa, int64_t batch) {
  return std::string(Name(kind.format)) + (kind.activation == Activation::kI8 ? " i8 " : " f32 ") +
         cpu::Name(isa) + " M=" + std::to_string(batch);
}

// Compares all variants with portable on the first rows of one batch; `batches` ascending.
void ExpectEqualVariants(Kind kind, const Case& c, const std::vector<float>& inputs,
                         const std::vector<int64_t>& batches, int threads) {
  const auto matrix = Prepare(c.source);
  const std::vector<float> expected = Multiply(Isa::kPortable, 1, *matrix, inputs, batches.back());
  for (const Isa isa : cpu::SupportedIsas()) {
    if (isa == Isa::kPortable) continue;
    for (const int64_t batch : batches) {
      const std::vector<float> actual = Multiply(isa, threads, *matrix, inputs, batch);
      const int64_t at =
          FirstDifference(expected.data(), actual.data(), static_cast<int64_t>(actual.size()));
      ASSERT_EQ(at, -1) << Describe(kind, isa, batch) << " row " << at / c.rows() << " output "
                        << at % c.rows() << ": " << actual[static_cast<size_t>(at)] << " is not "
                        << expected[static_cast<size_t>(at)];
    }
  }
}

TEST(MatMulVariants, GiveEqualBitsForEveryBatchSize) {
  Random random(1);
  for (const Kind kind : AllKinds()) {
    const Case c = MakeCase(kind.format, kind.activation, 40, 192, 4, Data::kPlain, random);
    ExpectEqualVariants(kind, c, MakeInputs(kLargestBatch, c.cols(), Data::kPlain, random),
                        BatchSizes(), 1);
  }
}

TEST(MatMulVariants, GiveEqualBitsForHardNumbers) {
  Random random(2);
  for (const Data data : kAllData) {
    for (const Kind kind : AllKinds()) {
      const Case c = MakeCase(kind.format, kind.activation, 48, 288, 3, data, random);
      ExpectEqualVariants(kind, c, MakeInputs(33, c.cols(), data, random), {1, 2, 4, 8, 15, 33}, 1);
    }
  }
}

TEST(MatMulVariants, GiveEqualBitsForEveryShapeAndLeafPlan) {
  struct Shape {
    int64_t rows, cols, leaves;
  };
  Random random(3);
  for (const Shape shape : {Shape{1, 32, 1}, Shape{15, 64, 2}, Shape{16, 64, 1}, Shape{17, 96, 3},
                            Shape{31, 160, 5}, Shape{33, 1536, 24}, Shape{96, 576, 9},
                            Shape{16, 4096, 24}, Shape{100, 800, 7}, Shape{64, 2048, 64}}) {
    for (const Kind kind : AllKinds()) {
      const Case c = MakeCase(kind.format, kind.activation, shape.rows, shape.cols, shape.leaves,
                              Data::kPlain, random);
      const std::vector<float> inputs = MakeInputs(26, c.cols(), Data::kPlain, random);
      ExpectEqualVariants(kind, c, inputs, {1, 3, 26}, 1);
    }
  }
}

TEST(MatMulVariants, GiveEqualBitsForUnevenFloatLeaves) {
  Random random(4);
  for (const WeightFormat format : {WeightFormat::kF32, WeightFormat::kF16, WeightFormat::kBF16}) {
    Case c = MakeCase(format, Activation::kF32, 37, 101, 1, Data::kPlain, random);
    c.source.leaves = MakeLeafPlan(101, 8, 5);
    const Kind kind{format, Activation::kF32};
    ExpectEqualVariants(kind, c, MakeInputs(11, 101, Data::kPlain, random), {1, 2, 5, 11}, 1);
  }
}

TEST(MatMulVariants, GiveEqualBitsForEveryThreadCount) {
  Random random(5);
  for (const Kind kind : AllKinds()) {
    const Case c = MakeCase(kind.format, kind.activation, 200, 320, 5, Data::kPlain, random);
    const std::vector<float> inputs = MakeInputs(70, c.cols(), Data::kPlain, random);
    for (const int threads : {2, 3}) {
      ExpectEqualVariants(kind, c, inputs, {1, 7, 26, 70}, threads);
    }
  }
}

TEST(MatMulVariants, PoisonOnlyTheRowsOfInputsThatAreNotFinite) {
  Random random(6);
  const Case c = MakeCase(WeightFormat::kQ4_1, Activation::kI8, 20, 64, 2, Data::kPlain, random);
  const auto matrix = Prepare(c.source);
  std::vector<float> inputs = MakeInputs(40, 64, Data::kPlain, random);
  inputs[3 * 64 + 5] = std::numeric_limits<float>::infinity();
  inputs[30 * 64 + 40] = std::numeric_limits<float>::quiet_NaN();
  for (const Isa isa : cpu::SupportedIsas()) {
    const std::vector<float> out = Multiply(isa, 1, *matrix, inputs, 40);
    for (size_t i = 0; i < out.size(); ++i) {
      const bool poisoned = i / 20 == 3 || i / 20 == 30;
      ASSERT_EQ(std::isnan(out[i]), poisoned) << cpu::Name(isa) << " row " << i / 20;
    }
  }
}

TEST(MatMulVariants, AreCountedByName) {
  Random random(7);
  for (const Kind kind : AllKinds()) {
    const Case c = MakeCase(kind.format, kind.activation, 16, 64, 1, Data::kPlain, random);
    const auto matrix = Prepare(c.source);
    const std::vector<float> inputs = MakeInputs(33, c.cols(), Data::kPlain, random);
    for (const Isa isa : cpu::SupportedIsas()) Multiply(isa, 1, *matrix, inputs, 33);
  }
  std::set<std::string> names;
  for (const VariantCount& count : VariantCounts()) {
    if (count.calls > 0) names.insert(count.name);
  }
  for (const Isa isa : cpu::SupportedIsas()) {
    for (const Kind kind : AllKinds()) {
      if (isa == Isa::kAmx && kind.activation == Activation::kF32) continue;  // runs on avx512
      const std::string name = std::string("matmul ") + Name(cpu::StoredFormat(kind.format)) +
                               (kind.activation == Activation::kI8 ? " i8 " : " f32 ") +
                               cpu::Name(isa);
      EXPECT_TRUE(names.contains(name)) << name;
    }
  }
}

}  // namespace
}  // namespace shoal::kernels::testing
