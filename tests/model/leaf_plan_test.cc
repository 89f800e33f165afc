// SPDX-License-Identifier: Apache-2.0
// Where leaves end (NUMERICS, "Canonical leaves"), the rope a spec means, and Validate.
#include <cmath>
#include <numbers>
#include <vector>

#include "gtest/gtest.h"
#include "model/blocks/rope_table.h"
#include "model/weights/matrix_sources.h"

namespace shoal::model::testing {
namespace {

using kernels::WeightFormat;

// Widths of the leaves.
std::vector<int64_t> Widths(const kernels::LeafPlan& plan) {
  std::vector<int64_t> widths;
  for (size_t i = 1; i < plan.borders.size(); ++i) {
    widths.push_back(plan.borders[i] - plan.borders[i - 1]);
  }
  return widths;
}

TEST(LeafPlan, AttentionLeavesAreWholeQueryHeads) {
  // 9 heads of 64: one head a leaf.
  EXPECT_EQ(Widths(AttentionOutputLeaves(WeightFormat::kQ4_1, 9, 64, 24)),
            std::vector<int64_t>(9, 64));
  // Heads of 80: 160 is the first multiple of 32.
  EXPECT_EQ(Widths(AttentionOutputLeaves(WeightFormat::kQ4_1, 8, 80, 24)),
            std::vector<int64_t>(4, 160));
  // An odd number of such heads leaves a short last leaf.
  EXPECT_EQ(Widths(AttentionOutputLeaves(WeightFormat::kQ8_0, 6, 48, 24)),
            std::vector<int64_t>(3, 96));
  // Float activations have no block: every head is a granule.
  EXPECT_EQ(Widths(AttentionOutputLeaves(WeightFormat::kF32, 6, 20, 24)),
            std::vector<int64_t>(6, 20));
  // More granules than shards: leaves of floor(i * G / S) granules.
  EXPECT_EQ(Widths(AttentionOutputLeaves(WeightFormat::kF32, 5, 16, 3)),
            (std::vector<int64_t>{16, 32, 32}));
  EXPECT_EQ(Widths(AttentionOutputLeaves(WeightFormat::kF32, 5, 16, 1)), std::vector<int64_t>{80});
}

TEST(LeafPlan, DownLeavesFollowTheFormat) {
  EXPECT_EQ(Widths(MlpDownLeaves(WeightFormat::kQ4_1, 1536, 24)), std::vector<int64_t>(24, 64));
  EXPECT_EQ(Widths(MlpDownLeaves(WeightFormat::kQ4_1, 224, 24)), std::vector<int64_t>(7, 32));
  EXPECT_EQ(Widths(MlpDownLeaves(WeightFormat::kBF16, 192, 24)), std::vector<int64_t>(6, 32));
  EXPECT_EQ(Widths(MlpDownLeaves(WeightFormat::kF32, 96, 24)), std::vector<int64_t>(12, 8));
  // The last granule may be short.
  EXPECT_EQ(Widths(MlpDownLeaves(WeightFormat::kF32, 20, 24)), (std::vector<int64_t>{8, 8, 4}));
}

TEST(RopeTable, PlainAndLinearFrequencies) {
  RopeSpec rope;
  rope.rotary_dim = 8;
  const kernels::RopeTable plain = MakeRopeTable(rope);
  ASSERT_EQ(plain.inv_freq.size(), 4U);
  EXPECT_EQ(plain.style, kernels::RopeTable::Style::kNeox);
  EXPECT_EQ(plain.magnitude, 1);
  for (size_t i = 0; i < 4; ++i) {
    EXPECT_DOUBLE_EQ(plain.inv_freq[i], std::pow(10.0, -static_cast<double>(i)));
  }
  rope.kind = RopeKind::kLinear;
  rope.factor = 4;
  rope.interleaved = true;
  const kernels::RopeTable linear = MakeRopeTable(rope);
  EXPECT_EQ(linear.style, kernels::RopeTable::Style::kInterleaved);
  for (size_t i = 0; i < 4; ++i) {
    EXPECT_DOUBLE_EQ(linear.inv_freq[i], plain.inv_freq[i] / 4);
  }
  rope.kind = RopeKind::kNone;
  EXPECT_TRUE(MakeRopeTable(rope).inv_freq.empty());
}

TEST(RopeTable, Llama3KeepsShortWavesSlowsLongOnesAndBlendsBetween) {
  const RopeSpec rope{.kind = RopeKind::kLlama3,
                      .theta = 500000,
                      .rotary_dim = 128,
                      .interleaved = false,
                      .factor = 8,
                      .low_freq_factor = 1,
                      .high_freq_factor = 4,
                      .original_context = 8192,
                      .freq_factors = {}};
  const std::vector<double> frequencies = MakeRopeTable(rope).inv_freq;
  int kept = 0;
  int slowed = 0;
  int blended = 0;
  for (size_t i = 0; i < frequencies.size(); ++i) {
    const double plain = std::pow(500000.0, -static_cast<double>(i) / 64);
    const double wavelength = 2 * std::numbers::pi / plain;
    if (wavelength < 8192.0 / 4) {
      EXPECT_DOUBLE_EQ(frequencies[i], plain);
      ++kept;
    } else if (wavelength > 8192.0) {
      EXPECT_DOUBLE_EQ(frequencies[i], plain / 8);
      ++slowed;
    } else {
      EXPECT_GT(frequencies[i], plain / 8);
      EXPECT_LT(frequencies[i], plain);
      ++blended;
    }
    EXPECT_TRUE(i == 0 || frequencies[i] < frequencies[i - 1]);
  }
  EXPECT_GT(kept, 0);
  EXPECT_GT(slowed, 0);
  EXPECT_GT(blended, 0);
}

TEST(RopeTable, FactorsOfAFileDivide) {
  const RopeSpec rope{
      .kind = RopeKind::kPlain, .theta = 100, .rotary_dim = 4, .freq_factors = {2, 5}};
  const std::vector<double> frequencies = MakeRopeTable(rope).inv_freq;
  EXPECT_DOUBLE_EQ(frequencies[0], 0.5);
  EXPECT_DOUBLE_EQ(frequencies[1], 0.1 / 5);
}

}  // namespace
}  // namespace shoal::model::testing
