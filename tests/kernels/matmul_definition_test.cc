// SPDX-License-Identifier: Apache-2.0
// The portable kernels compute what NUMERICS and kernels.h define, and results do not depend on
// what they must not depend on.
#include <gtest/gtest.h>

#include <cmath>
#include <cstring>

#include "kernels/backend.h"
#include "kernels/cpu/embedding.h"
#include "kernels/cpu/f16.h"
#include "kernels/cpu/float_mode.h"
#include "kernels/cpu/matmul/block_group.h"
#include "kernels/matmul_fixture.h"

namespace shoal::kernels::testing {
namespace {

using cpu::Isa;

// How the two scales of a group enter: as defined, or in the order used to show that it matters.
enum class Order { kDefined, kScalesFirst };

// One leaf of one output, from the bytes of the file.
float LeafFromFile(const RawMatrix& m, int64_t row, int64_t begin, int64_t end, const float* x,
                   Order order) {
  const int64_t size = GroupSize(m.format);
  const int64_t block = BlockSize(m.format);
  float acc = 0;
  for (int64_t k0 = begin; k0 < end; k0 += size) {
    const cpu::BlockGroup group = cpu::DecodeGroup(
        m.format,
        m.bytes.data() + row * RowBytes(m.format, m.cols) + RowBytes(m.format, k0 / block * block),
        k0 % block / size);
    float amax = 0;
    for (int64_t k = 0; k < size; ++k) amax = std::fmax(amax, std::fabs(x[k0 + k]));
    const float scale = amax / 127.0F;
    const float inverse = scale > 0 ? 1.0F / scale : 0.0F;
    int isum = 0;
    int qsum = 0;
    for (int64_t k = 0; k < size; ++k) {
      const int q = static_cast<int>(std::nearbyint(x[k0 + k] * inverse));
      const int weight = m.format == WeightFormat::kQ8_0 ? static_cast<int8_t>(group.q[k])
                                                         : group.q[k] - cpu::QuantOffset(m.format);
      isum += q * weight;
      qsum += q;
    }
    const float d = cpu::F16ToFloat(group.scale);
    if (order == Order::kDefined) {
      acc = std::fma(std::fma(static_cast<float>(isum), d, 0.0F), scale, acc);
    } else {
      acc = std::fma(static_cast<float>(isum), d * scale, acc);
    }
    if (!cpu::HasMinimum(m.format)) continue;
    acc = std::fma(cpu::F16ToFloat(group.minimum), scale * static_cast<float>(qsum), acc);
  }
  return acc;
}

float TreeFromFile(const RawMatrix& m, int64_t row, const std::vector<int64_t>& borders,
                   size_t first, size_t count, const float* x, Order order) {
  if (count == 1) return LeafFromFile(m, row, borders[first], borders[first + 1], x, order);
  const size_t left = (count + 1) / 2;
  return TreeFromFile(m, row, borders, first, left, x, order) +
         TreeFromFile(m, row, borders, first + left, count - left, x, order);
}

std::vector<float> MultiplyFromFile(const Case& c, const std::vector<float>& inputs, int64_t batch,
                                    Order order) {
  const cpu::ScopedFloatMode mode;
  std::vector<float> out;
  for (int64_t r = 0; r < batch; ++r) {
    for (int64_t n = 0; n < c.rows(); ++n) {
      const auto& borders = c.source.leaves.borders;
      out.push_back(TreeFromFile(c.matrices[0], n, borders, 0, borders.size() - 1,
                                 inputs.data() + r * c.cols(), order));
    }
  }
  return out;
}

constexpr WeightFormat kBlockFormats[] = {
    WeightFormat::kQ8_0, WeightFormat::kQ4_0, WeightFormat::kQ4_1, WeightFormat::kQ5_0,
    WeightFormat::kQ5_1, WeightFormat::kQ6_K, WeightFormat::kQ4_K, WeightFormat::kQ5_K};

TEST(MatMulDefinition, OfInt8InputsIsWhatPortableComputes) {
  Random random(11);
  for (const Data data : kAllData) {
    for (const WeightFormat format : kBlockFormats) {
      const Case c = MakeCase(format, Activation::kI8, 21, 416, 5, data, random);
      const std::vector<float> inputs = MakeInputs(9, c.cols(), data, random);
      const std::vector<float> expected = MultiplyFromFile(c, inputs, 9, Order::kDefined);
      const auto matrix = Prepare(c.source);
      const std::vector<float> actual = Multiply(Isa::kPortable, 1, *matrix, inputs, 9);
      ASSERT_EQ(FirstDifference(expected.data(), actual.data(), 9 * 21), -1) << Name(format);
    }
  }
}

TEST(MatMulDefinition, DiffersFromAnotherAssociationOfTheScales) {
  Random random(12);
  for (const WeightFormat format : kBlockFormats) {
    const Case c = MakeCase(format, Activation::kI8, 21, 416, 5, Data::kPlain, random);
    const std::vector<float> inputs = MakeInputs(9, c.cols(), Data::kPlain, random);
    const std::vector<float> other = MultiplyFromFile(c, inputs, 9, Order::kScalesFirst);
    const auto matrix = Prepare(c.source);
    for (const Isa isa : cpu::SupportedIsas()) {
      const std::vector<float> actual = Multiply(isa, 1, *matrix, inputs, 9);
      EXPECT_NE(FirstDifference(other.data(), actual.data(), 9 * 21), -1) << Name(format);
    }
  }
}

TEST(MatMulDefinition, OfFloatInputsIsAscendingFusedSumsInATreeOfLeaves) {
  Random random(13);
  for (const WeightFormat format : kAllFormats) {
    const Case c = MakeCase(format, Activation::kF32, 18, 352, 7, Data::kPlain, random);
    const int64_t cols = c.cols();
    const std::vector<float> inputs = MakeInputs(5, cols, Data::kPlain, random);
    const auto matrix = Prepare(c.source);
    const std::vector<float> actual = Multiply(Isa::kPortable, 1, *matrix, inputs, 5);
    const cpu::ScopedFloatMode mode;
    const std::vector<int64_t>& borders = c.source.leaves.borders;
    ASSERT_EQ(borders.size(), 8u);
    std::vector<float> weights(static_cast<size_t>(cols));
    for (int64_t n = 0; n < 18; ++n) {
      cpu::WidenWeights(format, c.matrices[0].bytes.data() + n * RowBytes(format, cols), cols,
                        weights.data());
      for (int64_t r = 0; r < 5; ++r) {
        float leaf[7] = {};
        for (size_t i = 0; i < 7; ++i) {
          for (int64_t k = borders[i]; k < borders[i + 1]; ++k) {
            leaf[i] = std::fma(weights[static_cast<size_t>(k)],
                               inputs[static_cast<size_t>(r * cols + k)], leaf[i]);
          }
        }
        // Seven leaves: four and three; two and two, two and one.
        const float sum =
            ((leaf[0] + leaf[1]) + (leaf[2] + leaf[3])) + ((leaf[4] + leaf[5]) + leaf[6]);
        const float got = actual[static_cast<size_t>(r * 18 + n)];
        ASSERT_EQ(FirstDifference(&sum, &got, 1), -1) << Name(format);
      }
    }
  }
}

TEST(MatMulDefinition, DependsOnTheLeafPlan) {
  Random random(14);
  Case c = MakeCase(WeightFormat::kQ4_1, Activation::kI8, 48, 576, 9, Data::kPlain, random);
  const std::vector<float> inputs = MakeInputs(4, 576, Data::kPlain, random);
  const std::vector<float> nine = Multiply(Isa::kPortable, 1, *Prepare(c.source), inputs, 4);
  c.source.leaves = SingleLeaf(576);
  const std::vector<float> one = Multiply(Isa::kPortable, 1, *Prepare(c.source), inputs, 4);
  EXPECT_NE(FirstDifference(nine.data(), one.data(), 4 * 48), -1);
}

TEST(MatMulDefinition, GivesARowTheSameBitsWhateverTheOtherRowsAre) {
  Random random(15);
  for (const Isa isa : cpu::SupportedIsas()) {
    const Case c = MakeCase(WeightFormat::kQ8_0, Activation::kI8, 35, 128, 2, Data::kPlain, random);
    const auto matrix = Prepare(c.source);
    std::vector<float> inputs = MakeInputs(50, 128, Data::kPlain, random);
    const std::vector<float> before = Multiply(isa, 1, *matrix, inputs, 50);
    for (size_t i = 0; i < inputs.size(); ++i) {
      if (i / 128 != 20) inputs[i] = 1e4F * random.Signed();
    }
    const std::vector<float> after = Multiply(isa, 1, *matrix, inputs, 50);
    EXPECT_EQ(FirstDifference(&before[20 * 35], &after[20 * 35], 35), -1) << cpu::Name(isa);
    EXPECT_NE(FirstDifference(&before[19 * 35], &after[19 * 35], 35), -1) << cpu::Name(isa);
  }
}

TEST(MatMulDefinition, AddsTheBiasAfterTheTreeAndTheResidualLast) {
  Random random(16);
  Case c = MakeCase(WeightFormat::kQ4_0, Activation::kI8, 19, 96, 3, Data::kPlain, random);
  const std::vector<float> inputs = MakeInputs(30, 96, Data::kPlain, random);
  const std::vector<float> plain = Multiply(Isa::kPortable, 1, *Prepare(c.source), inputs, 30);
  for (int64_t n = 0; n < 19; ++n) c.source.bias.push_back(random.Signed());
  const auto matrix = Prepare(c.source);
  std::vector<float> residual = MakeInputs(30, 19, Data::kPlain, random);
  for (const Isa isa : cpu::SupportedIsas()) {
    std::vector<float> out = residual;
    cpu::CpuStream stream(isa, 1);
    cpu::MatMul(stream, Tensor(const_cast<float*>(inputs.data()), DType::kF32, {30, 96}), *matrix,
                Tensor(out.data(), DType::kF32, {30, 19}), cpu::MatMulResult::kAccumulate);
    const std::vector<float> biased = Multiply(isa, 1, *matrix, inputs, 30);
    for (size_t i = 0; i < out.size(); ++i) {
      ASSERT_EQ(biased[i], plain[i] + c.source.bias[i % 19]) << cpu::Name(isa);
      ASSERT_EQ(out[i], residual[i] + biased[i]) << cpu::Name(isa);
    }
  }
}

TEST(MatMulDefinition, RunsPartsOfDifferentFormatsAsTheyRunAlone) {
  Random random(17);
  Case c = MakeCase(WeightFormat::kQ4_1, Activation::kI8, 20, 64, 2, Data::kPlain, random);
  c.matrices.push_back(MakeMatrix(WeightFormat::kQ8_0, 33, 64, Data::kPlain, random));
  c.matrices.push_back(MakeMatrix(WeightFormat::kF16, 7, 64, Data::kPlain, random));
  c.source.parts.clear();
  for (const RawMatrix& m : c.matrices) c.source.parts.push_back(m.View());
  const std::vector<float> inputs = MakeInputs(27, 64, Data::kPlain, random);
  for (const Isa isa : cpu::SupportedIsas()) {
    const std::vector<float> all = Multiply(isa, 2, *Prepare(c.source), inputs, 27);
    int64_t first = 0;
    for (const WeightView& part : std::vector<WeightView>(c.source.parts)) {
      MatrixSource alone = c.source;
      alone.parts = {part};
      const std::vector<float> out = Multiply(isa, 1, *Prepare(alone), inputs, 27);
      for (int64_t r = 0; r < 27; ++r) {
        ASSERT_EQ(FirstDifference(&all[static_cast<size_t>(r * 60 + first)],
                                  &out[static_cast<size_t>(r * part.rows)], part.rows),
                  -1)
            << Name(part.format);
      }
      first += part.rows;
    }
  }
}

TEST(MatMulDefinition, AgreesWithTheReferenceBackend) {
  Random random(18);
  const auto reference = CreateBackend("reference");
  ASSERT_TRUE(reference.ok());
  const auto stream = (*reference)->CreateStream({});
  ASSERT_TRUE(stream.ok());
  for (const WeightFormat format : kAllFormats) {
    for (const Activation activation : {Activation::kF32, Activation::kI8}) {
      Case c = MakeCase(format, activation, 30, 320, 5, Data::kPlain, random);
      for (int64_t n = 0; n < 30; ++n) c.source.bias.push_back(random.Signed());
      std::vector<float> inputs = MakeInputs(6, c.cols(), Data::kPlain, random);
      const std::vector<float> actual = Multiply(Isa::kPortable, 1, *Prepare(c.source), inputs, 6);
      const auto matrix = (*reference)->PrepareMatrix(c.source);
      ASSERT_TRUE(matrix.ok());
      std::vector<float> expected(6 * 30);
      (*reference)
          ->dense()
          .MatMul(**stream, Tensor(inputs.data(), DType::kF32, {6, c.cols()}), **matrix,
                  Tensor(expected.data(), DType::kF32, {6, 30}));
      double largest = 0;
      for (const float e : expected) largest = std::fmax(largest, std::fabs(e));
      ASSERT_GT(largest, 0.1);
      for (size_t i = 0; i < expected.size(); ++i) {
        ASSERT_NEAR(actual[i], expected[i], 4e-6 * largest)
            << Name(format) << " activation " << static_cast<int>(activation);
      }
    }
  }
}

TEST(Embedding, GathersTheRowsThatTheReferenceWidens) {
  Random random(19);
  const auto reference = CreateBackend("reference");
  ASSERT_TRUE(reference.ok());
  for (const WeightFormat format : kAllFormats) {
    const int64_t cols = WholeBlocks(format, 96);
    const RawMatrix m = MakeMatrix(format, 12, cols, Data::kPlain, random);
    const auto table = cpu::CpuTable::Prepare(m.View());
    ASSERT_TRUE(table.ok());
    EXPECT_EQ((*table)->bytes(), 12 * RowBytes(format, cols));
    const auto expected_table = (*reference)->PrepareTable(m.View());
    ASSERT_TRUE(expected_table.ok());
    const auto stream = (*reference)->CreateStream({});
    const std::vector<int32_t> tokens = {11, 0, 3, 3, 7};
    std::vector<float> out(static_cast<size_t>(5 * cols));
    std::vector<float> expected(out.size());
    cpu::CpuStream cpu_stream(Isa::kPortable, 2);
    cpu::Embed(cpu_stream, **table, tokens, 0.5F, Tensor(out.data(), DType::kF32, {5, cols}));
    (*reference)
        ->dense()
        .Embed(**stream, **expected_table, tokens, 0.5F,
               Tensor(expected.data(), DType::kF32, {5, cols}));
    for (size_t i = 0; i < out.size(); ++i) {
      ASSERT_NEAR(out[i], expected[i], 2e-7F * std::fabs(expected[i]) + 1e-9F) << Name(format);
    }
  }
}

}  // namespace
}  // namespace shoal::kernels::testing
