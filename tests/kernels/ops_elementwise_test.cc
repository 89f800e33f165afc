// SPDX-License-Identifier: Apache-2.0
#include <gtest/gtest.h>

#include <cmath>
#include <functional>
#include <vector>

#include "kernels/cpu/ops/ops.h"
#include "kernels/reference/reference_ops.h"
#include "ops_fixture.h"

namespace shoal::kernels::cpu {
namespace {

// Runs `op` on every instruction set and 1 to 3 threads; all results must have the bits of the
// portable variant on one thread, which is returned.
std::vector<float> OnAll(const std::function<std::vector<float>(CpuStream&)>& op) {
  CpuStream portable(Isa::kPortable, 1);
  const std::vector<float> expected = op(portable);
  for (Isa isa : SupportedIsas()) {
    for (int threads = 1; threads <= 3; ++threads) {
      CpuStream stream(isa, threads);
      EXPECT_TRUE(SameBits(expected, op(stream))) << Name(isa) << " " << threads << " threads";
    }
  }
  return expected;
}

void ExpectClose(const std::vector<float>& a, const std::vector<float>& b, float tolerance) {
  ASSERT_EQ(a.size(), b.size());
  for (size_t i = 0; i < a.size(); ++i) {
    ASSERT_NEAR(a[i], b[i], tolerance * (1 + std::fabs(b[i]))) << i;
  }
}

TEST(ElementwiseOps, RmsNormMatchesTheReferenceOnAllVariants) {
  for (int64_t n : {1, 15, 16, 17, 31, 33, 576, 1000}) {
    for (int64_t rows : {1, 3, 70}) {
      std::vector<float> x = RandomFloats(rows * n, 1, 3);
      const std::vector<float> weight = RandomFloats(n, 2);
      const auto y = OnAll([&](CpuStream& stream) {
        std::vector<float> out(x.size());
        RmsNorm(stream, Matrix(x, rows), weight, 1e-5F, Matrix(out, rows));
        return out;
      });
      std::vector<float> expected(x.size());
      reference::RmsNorm(Matrix(x, rows), weight, 1e-5F, Matrix(expected, rows));
      ExpectClose(y, expected, 1e-6F);
    }
  }
}

TEST(ElementwiseOps, RmsNormOfARowDoesNotDependOnTheOthersAndMayRunInPlace) {
  std::vector<float> x = RandomFloats(40 * 700, 3);
  const std::vector<float> weight = RandomFloats(700, 4);
  CpuStream stream(SupportedIsas().back(), 2);
  std::vector<float> all(x.size());
  RmsNorm(stream, Matrix(x, 40), weight, 1e-6F, Matrix(all, 40));
  std::vector<float> row(x.begin() + 23 * 700, x.begin() + 24 * 700);
  RmsNorm(stream, Matrix(row, 1), weight, 1e-6F, Matrix(row, 1));
  EXPECT_TRUE(SameBits(row, {all.begin() + 23 * 700, all.begin() + 24 * 700}));
}

TEST(ElementwiseOps, HeadRmsNormMatchesTheReferenceOnAllVariants) {
  for (int64_t head_dim : {8, 24, 64}) {
    std::vector<float> x = RandomFloats(5 * 3 * head_dim, 5);
    const std::vector<float> weight = RandomFloats(head_dim, 6);
    const auto y = OnAll([&](CpuStream& stream) {
      std::vector<float> out(x.size());
      HeadRmsNorm(stream, Matrix(x, 5), weight, 1e-5F, Matrix(out, 5));
      return out;
    });
    std::vector<float> expected(x.size());
    reference::HeadRmsNorm(Matrix(x, 5), weight, 1e-5F, Matrix(expected, 5));
    ExpectClose(y, expected, 1e-6F);
  }
}

TEST(ElementwiseOps, RopeMatchesTheReferenceInBothStylesAlsoPartial) {
  for (auto style : {RopeTable::Style::kNeox, RopeTable::Style::kInterleaved}) {
    for (int64_t pairs : {4, 9, 16, 32}) {
      RopeTable table{.style = style, .inv_freq = {}, .magnitude = 1.1F};
      for (int64_t i = 0; i < pairs; ++i) {
        table.inv_freq.push_back(std::pow(10000.0, -static_cast<double>(i) / 32.0));
      }
      const std::vector<int32_t> positions = {0, 1, 511, 512, 100000, 7, 7};
      std::vector<float> x = RandomFloats(7 * 3 * 64, 8);
      const auto y = OnAll([&](CpuStream& stream) {
        std::vector<float> out = x;
        Rope(stream, table, positions, 64, Matrix(out, 7));
        return out;
      });
      std::vector<float> expected = x;
      reference::Rope(table, positions, 64, Matrix(expected, 7));
      ExpectClose(y, expected, 1e-6F);
      for (size_t i = static_cast<size_t>(2 * pairs); i < 64; ++i) EXPECT_EQ(y[i], x[i]);
    }
  }
}

TEST(ElementwiseOps, SiluMulMatchesTheReferenceAndSurvivesExtremes) {
  for (int64_t n : {1, 16, 23, 1536}) {
    std::vector<float> x = RandomFloats(20 * 2 * n, 9, 12);
    x[0] = -1e30F;
    const auto y = OnAll([&](CpuStream& stream) {
      std::vector<float> out(static_cast<size_t>(20 * n));
      SiluMul(stream, Matrix(x, 20), Matrix(out, 20));
      return out;
    });
    std::vector<float> expected(y.size());
    reference::SiluMul(Matrix(x, 20), Matrix(expected, 20));
    ExpectClose(y, expected, 1e-6F);
  }
  std::vector<float> gate_up = {-1e30F, -100.0F, 1e30F, 0.0F, 1.0F, 1.0F, 1.0F, 1.0F};
  const auto y = OnAll([&](CpuStream& stream) {
    std::vector<float> out(4);
    SiluMul(stream, Matrix(gate_up, 1), Matrix(out, 1));
    return out;
  });
  EXPECT_EQ(y[0], 0.0F);
  EXPECT_EQ(y[1], 0.0F);
  EXPECT_EQ(y[2], 1e30F);
  EXPECT_EQ(y[3], 0.0F);
}

TEST(ElementwiseOps, LayerNormMatchesTheReferenceWithAndWithoutBias) {
  for (int64_t n : {1, 15, 16, 17, 33, 576, 1000}) {
    for (bool biased : {false, true}) {
      std::vector<float> x = RandomFloats(20 * n, 1, 3);
      for (float& value : x) value += 5.0F;  // far from its mean of zero
      const std::vector<float> weight = RandomFloats(n, 2);
      const std::vector<float> bias = biased ? RandomFloats(n, 3) : std::vector<float>();
      const auto y = OnAll([&](CpuStream& stream) {
        std::vector<float> out = x;  // in place
        LayerNorm(stream, Matrix(out, 20), weight, bias, 1e-5F, Matrix(out, 20));
        return out;
      });
      std::vector<float> expected(x.size());
      reference::LayerNorm(Matrix(x, 20), weight, bias, 1e-5F, Matrix(expected, 20));
      ExpectClose(y, expected, 4e-6F);
    }
  }
}

TEST(ElementwiseOps, GeluMatchesTheReferenceGatedAndAlone) {
  for (int64_t n : {1, 16, 23, 1536}) {
    std::vector<float> x = RandomFloats(20 * 2 * n, 9, 8);
    const auto gated = OnAll([&](CpuStream& stream) {
      std::vector<float> out(static_cast<size_t>(20 * n));
      GeluMul(stream, Matrix(x, 20), Matrix(out, 20));
      return out;
    });
    std::vector<float> expected(gated.size());
    reference::GeluMul(Matrix(x, 20), Matrix(expected, 20));
    ExpectClose(gated, expected, 1e-6F);
    const auto plain = OnAll([&](CpuStream& stream) {
      std::vector<float> out = x;
      Gelu(stream, Matrix(out, 20));
      return out;
    });
    std::vector<float> wanted = x;
    reference::Gelu(Matrix(wanted, 20));
    ExpectClose(plain, wanted, 1e-6F);
  }
  std::vector<float> extremes = {-1e10F, -100.0F, 1e10F, 0.0F};
  const auto y = OnAll([&](CpuStream& stream) {
    std::vector<float> out = extremes;
    Gelu(stream, Matrix(out, 1));
    return out;
  });
  EXPECT_EQ(y[0], 0.0F);
  EXPECT_EQ(y[1], 0.0F);
  EXPECT_EQ(y[2], 1e10F);
  EXPECT_EQ(y[3], 0.0F);
}

TEST(ElementwiseOps, SoftcapMatchesTheReferenceAndBoundsItsResult) {
  for (float cap : {1.5F, 30.0F}) {
    std::vector<float> x = RandomFloats(7 * 333, 12, 100);
    x[5] = 1e30F;
    const auto y = OnAll([&](CpuStream& stream) {
      std::vector<float> out = x;
      Softcap(stream, cap, Matrix(out, 7));
      return out;
    });
    std::vector<float> expected = x;
    reference::Softcap(cap, Matrix(expected, 7));
    ExpectClose(y, expected, 1e-6F);
    EXPECT_EQ(y[5], cap);
  }
}

TEST(ElementwiseOps, AddAndGatherRowsAreExact) {
  std::vector<float> x = RandomFloats(60 * 333, 10);
  std::vector<float> y = RandomFloats(60 * 333, 11);
  const auto sum = OnAll([&](CpuStream& stream) {
    std::vector<float> out = x;
    Add(stream, Matrix(y, 60), Matrix(out, 60));
    return out;
  });
  for (size_t i = 0; i < x.size(); ++i) ASSERT_EQ(sum[i], x[i] + y[i]);
  const std::vector<int32_t> rows = {59, 0, 7, 7};
  const auto gathered = OnAll([&](CpuStream& stream) {
    std::vector<float> out(4 * 333);
    GatherRows(stream, Matrix(x, 60), rows, Matrix(out, 4));
    return out;
  });
  for (size_t r = 0; r < rows.size(); ++r) {
    for (size_t i = 0; i < 333; ++i) {
      ASSERT_EQ(gathered[r * 333 + i], x[static_cast<size_t>(rows[r]) * 333 + i]);
    }
  }
}

TEST(ElementwiseOps, DenormalsAreZeroOnAllVariants) {
  std::vector<float> tiny(40, 1e-40F);
  std::vector<float> normal(40, 1.5e-38F);
  const auto sum = OnAll([&](CpuStream& stream) {
    std::vector<float> out = tiny;
    Add(stream, Matrix(tiny, 1), Matrix(out, 1));
    return out;
  });
  for (float value : sum) EXPECT_EQ(value, 0.0F);
  const std::vector<float> weight(40, 1e-30F);
  const auto norm = OnAll([&](CpuStream& stream) {
    std::vector<float> out(40);
    RmsNorm(stream, Matrix(normal, 1), weight, 1.0F, Matrix(out, 1));
    return out;
  });
  for (float value : norm) EXPECT_EQ(value, 0.0F);
}

}  // namespace
}  // namespace shoal::kernels::cpu
