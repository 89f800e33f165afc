// SPDX-License-Identifier: Apache-2.0
#include <gtest/gtest.h>

#include <cmath>
#include <cstring>
#include <limits>
#include <vector>

#include "kernels/cpu/f16.h"
#include "kernels/cpu/float_mode.h"
#include "kernels/cpu/isa.h"
#include "kernels/cpu/ops/op_kernels.h"
#include "kernels/cpu/ops/scalar_math.h"
#include "ops_fixture.h"

namespace shoal::kernels::cpu {
namespace {

constexpr float kInfinity = std::numeric_limits<float>::infinity();
constexpr float kNan = std::numeric_limits<float>::quiet_NaN();

template <class Call>
std::vector<float> InFlushMode(size_t count, Call call) {
  std::vector<float> out(count);
  const ScopedFloatMode mode;
  call(out.data());
  return out;
}

TEST(MathKernels, ExpIsWithinTwoUlpsOfTheTrueValue) {
  std::vector<float> x;
  for (int i = 0; i <= 200000; ++i) x.push_back(-87.0F * static_cast<float>(i) / 200000.0F);
  for (Isa isa : SupportedIsas()) {
    const auto y = InFlushMode(x.size(), [&](float* out) {
      OpKernelsFor(isa).exp_row(x.data(), static_cast<int64_t>(x.size()), out);
    });
    for (size_t i = 0; i < x.size(); ++i) {
      const long double truth = std::exp(static_cast<long double>(x[i]));
      ASSERT_LE(std::fabs(static_cast<long double>(y[i]) / truth - 1), 2 * 0x1p-23L)
          << Name(isa) << " exp(" << x[i] << ")";
    }
  }
}

TEST(MathKernels, ExpKeepsItsExtremes) {
  const std::vector<float> x = {0.0F, -0.0F, -88.5F, -1000.0F, -3e38F, -kInfinity, kNan, -1e-45F};
  for (Isa isa : SupportedIsas()) {
    const auto y = InFlushMode(x.size(), [&](float* out) {
      OpKernelsFor(isa).exp_row(x.data(), static_cast<int64_t>(x.size()), out);
    });
    EXPECT_EQ(y[0], 1.0F);
    EXPECT_EQ(y[1], 1.0F);
    for (size_t i = 2; i < 6; ++i) EXPECT_EQ(y[i], 0.0F) << x[i];
    EXPECT_TRUE(std::isnan(y[6]));
    EXPECT_EQ(y[7], 1.0F);
  }
}

TEST(MathKernels, TanhIsAccurateAndOdd) {
  std::vector<float> x = {0.0F, 1e-30F, 1e-5F, 0.6249999F, 0.625F, 9.0F, 100.0F, kInfinity};
  for (int i = 1; i <= 50000; ++i) x.push_back(10.0F * static_cast<float>(i) / 50000.0F);
  std::vector<float> negative = x;
  for (float& value : negative) value = -value;
  const auto n = static_cast<int64_t>(x.size());
  for (Isa isa : SupportedIsas()) {
    const OpKernels& kernels = OpKernelsFor(isa);
    const auto y = InFlushMode(x.size(), [&](float* out) { kernels.tanh_row(x.data(), n, out); });
    const auto z =
        InFlushMode(x.size(), [&](float* out) { kernels.tanh_row(negative.data(), n, out); });
    for (size_t i = 0; i < x.size(); ++i) {
      const long double truth = std::tanh(static_cast<long double>(x[i]));
      ASSERT_LE(std::fabs(static_cast<long double>(y[i]) - truth), 4 * 0x1p-24L * truth) << x[i];
      ASSERT_EQ(y[i], -z[i]);
    }
    EXPECT_TRUE(std::signbit(z[0]));
  }
}

TEST(MathKernels, RopeAnglesAreWithinOneUlpAtLongPositions) {
  std::vector<double> inv_freq;
  for (int i = 0; i < 37; ++i) inv_freq.push_back(std::pow(10000.0, -i / 37.0));
  for (Isa isa : SupportedIsas()) {
    for (double position : {0.0, 1.0, 17.0, 511.0, 8191.0, 131071.0, 1048575.0}) {
      std::vector<float> cos(48);
      std::vector<float> sin(48);
      {
        const ScopedFloatMode mode;
        OpKernelsFor(isa).rope_angles(inv_freq.data(), 37, position, 1.25, cos.data(), sin.data());
      }
      for (size_t i = 0; i < 37; ++i) {
        const auto angle = static_cast<long double>(position * inv_freq[i]);
        EXPECT_NEAR(cos[i], static_cast<double>(1.25L * std::cos(angle)), 0x1p-23);
        EXPECT_NEAR(sin[i], static_cast<double>(1.25L * std::sin(angle)), 0x1p-23);
      }
      for (size_t i = 37; i < 48; ++i) EXPECT_EQ(cos[i] + sin[i], 0.0F);
    }
  }
}

TEST(MathKernels, LogIsAccurateOverAllMagnitudes) {
  for (int exponent = -300; exponent <= 300; exponent += 3) {
    for (double m : {1.0, 1.0000001, 1.25, 1.4142135623730951, 1.42, 1.9999999}) {
      const double x = std::ldexp(m, exponent);
      const long double truth = std::log(static_cast<long double>(x));
      const long double scale = std::max(1.0L, std::fabs(truth));
      EXPECT_LE(std::fabs(static_cast<long double>(Log(x)) - truth), 5e-16L * scale) << x;
    }
  }
  EXPECT_EQ(Log(1.0), 0.0);
}

TEST(MathKernels, EveryInstructionSetGivesThePortableBits) {
  std::vector<float> x = RandomFloats(4099, 5, 100);
  for (float& value : x) value = -std::fabs(value);
  const OpKernels& portable = OpKernelsFor(Isa::kPortable);
  const auto exp =
      InFlushMode(x.size(), [&](float* out) { portable.exp_row(x.data(), 4099, out); });
  const auto tanh =
      InFlushMode(x.size(), [&](float* out) { portable.tanh_row(x.data(), 4099, out); });
  for (Isa isa : SupportedIsas()) {
    const OpKernels& kernels = OpKernelsFor(isa);
    EXPECT_TRUE(SameBits(
        exp, InFlushMode(x.size(), [&](float* out) { kernels.exp_row(x.data(), 4099, out); })));
    EXPECT_TRUE(SameBits(
        tanh, InFlushMode(x.size(), [&](float* out) { kernels.tanh_row(x.data(), 4099, out); })));
  }
}

TEST(MathKernels, HalfConversionRoundsToEvenSaturatesAndKeepsNan) {
  // Every half, the midpoints between neighbours and values just beside them, on every variant.
  std::vector<float> x;
  for (uint32_t h = 0; h < 0x7C00; ++h) {
    const float value = F16ToFloat(static_cast<uint16_t>(h));
    const float next = h + 1 < 0x7C00 ? F16ToFloat(static_cast<uint16_t>(h + 1)) : 65536.0F;
    const float middle = (value + next) / 2;
    for (float v : {value, middle, std::nextafter(middle, 0.0F), std::nextafter(middle, 1e9F)}) {
      x.push_back(v);
      x.push_back(-v);
    }
  }
  for (float v : {1e9F, kInfinity, -kInfinity, kNan, 1e-45F, -1e-40F, 3e-8F}) x.push_back(v);
  std::vector<uint16_t> expected(x.size());
  for (size_t i = 0; i < x.size(); ++i) expected[i] = FloatToF16Saturating(x[i]);
  EXPECT_EQ(FloatToF16Saturating(65520.0F), 0x7BFF);
  EXPECT_EQ(FloatToF16Saturating(-kInfinity), 0xFBFF);
  EXPECT_EQ(FloatToF16Saturating(1.0F + 0x1p-11F), 0x3C00);
  EXPECT_EQ(FloatToF16Saturating(1.0F + 3 * 0x1p-11F), 0x3C02);
  EXPECT_EQ(FloatToF16Saturating(0x1p-25F), 0);
  for (uint32_t h = 0; h < 0x7C00; ++h) {
    ASSERT_EQ(FloatToF16Saturating(F16ToFloat(static_cast<uint16_t>(h))), h);
  }
  for (Isa isa : SupportedIsas()) {
    std::vector<uint16_t> half(x.size());
    {
      const ScopedFloatMode mode;
      OpKernelsFor(isa).to_half(x.data(), static_cast<int64_t>(x.size()), half.data());
    }
    for (size_t i = 0; i < x.size(); ++i) {
      ASSERT_EQ(half[i], expected[i]) << Name(isa) << " " << x[i];
    }
  }
}

}  // namespace
}  // namespace shoal::kernels::cpu
