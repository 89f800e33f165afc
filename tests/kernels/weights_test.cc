// SPDX-License-Identifier: Apache-2.0
#include "kernels/weights.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <limits>

#include "absl/strings/str_cat.h"
#include "kernels/backend.h"
#include "kernels/cpu/matmul/block_group.h"
#include "kernels/matmul_fixture.h"

namespace shoal::kernels::testing {
namespace {

TEST(LeafPlan, CutsGranulesEvenlyAtTheDefinedBorders) {
  for (const int64_t granule : {1, 8, 32, 64}) {
    for (int64_t cols = 1; cols <= 70 * granule; cols += (granule == 1 ? 1 : granule / 2)) {
      for (int64_t shards = 1; shards <= 40; ++shards) {
        const LeafPlan plan = MakeLeafPlan(cols, granule, shards);
        const int64_t granules = (cols + granule - 1) / granule;
        ASSERT_EQ(plan.leaves(), std::min(shards, granules));
        ASSERT_EQ(plan.borders.front(), 0);
        ASSERT_EQ(plan.borders.back(), cols);
        int64_t smallest = cols;
        int64_t largest = 0;
        for (int64_t i = 0; i < plan.leaves(); ++i) {
          const int64_t begin = plan.borders[static_cast<size_t>(i)];
          const int64_t end = plan.borders[static_cast<size_t>(i + 1)];
          ASSERT_LT(begin, end);
          ASSERT_EQ(begin, i * granules / plan.leaves() * granule);
          const int64_t size = (end - begin + granule - 1) / granule;
          smallest = std::min(smallest, size);
          largest = std::max(largest, size);
        }
        ASSERT_LE(largest - smallest, 1);
      }
    }
  }
}

TEST(LeafPlan, OfSmolLm2IsNineHeadsAndTwentyFourLeaves) {
  EXPECT_EQ(MakeLeafPlan(576, 64, 24).leaves(), 9);
  const LeafPlan down = MakeLeafPlan(1536, 32, 24);
  EXPECT_EQ(down.leaves(), 24);
  EXPECT_EQ(down.borders[1], 64);
  EXPECT_EQ(SingleLeaf(1536).borders, (std::vector<int64_t>{0, 1536}));
}

// The sum of a stack machine that follows the steps equals the recursive halving, for any count.
TEST(LeafSteps, WalkTheTreeThatHalvesAtTheCeiling) {
  for (int64_t leaves = 1; leaves <= 200; ++leaves) {
    const std::vector<cpu::LeafStep> steps = cpu::MakeLeafSteps(MakeLeafPlan(leaves, 1, leaves));
    std::vector<std::string> stack;
    size_t deepest = 0;
    for (const cpu::LeafStep& step : steps) {
      stack.push_back(std::to_string(step.begin));
      deepest = std::max(deepest, stack.size());
      for (int64_t m = 0; m < step.merges; ++m) {
        const std::string right = stack.back();
        stack.pop_back();
        stack.back() = absl::StrCat("(", stack.back(), "+", right, ")");
      }
    }
    const auto tree = [](auto self, int64_t first, int64_t count) -> std::string {
      if (count == 1) return std::to_string(first);
      const int64_t left = (count + 1) / 2;
      return absl::StrCat("(", self(self, first, left), "+", self(self, first + left, count - left),
                          ")");
    };
    ASSERT_EQ(stack.size(), 1u);
    ASSERT_EQ(stack[0], tree(tree, 0, leaves));
    ASSERT_LE(static_cast<int64_t>(deepest), cpu::kMaxLeafStack);
  }
}

TEST(WeightFormats, HaveTheSizesOfGguf) {
  EXPECT_EQ(RowBytes(WeightFormat::kF32, 64), 256);
  EXPECT_EQ(RowBytes(WeightFormat::kF16, 64), 128);
  EXPECT_EQ(RowBytes(WeightFormat::kBF16, 64), 128);
  EXPECT_EQ(RowBytes(WeightFormat::kQ8_0, 64), 68);
  EXPECT_EQ(RowBytes(WeightFormat::kQ4_0, 64), 36);
  EXPECT_EQ(RowBytes(WeightFormat::kQ4_1, 64), 40);
  EXPECT_EQ(GroupSize(WeightFormat::kF16), 1);
  EXPECT_EQ(GroupSize(WeightFormat::kQ4_1), 32);
}

// The K formats become groups with a float16 scale each, and minimum where they have one.
int64_t StoredRowBytes(WeightFormat format, int64_t cols) {
  if (format == WeightFormat::kQ4_K) return cols / 32 * 20;
  if (format == WeightFormat::kQ5_K) return cols / 32 * 24;
  if (format == WeightFormat::kQ6_K) return cols / 16 * 14;
  return RowBytes(format, cols);
}

TEST(PrepareMatrix, OwnsTheBytesItPredicted) {
  Random random(21);
  const auto backend = CreateBackend("cpu");
  ASSERT_TRUE(backend.ok()) << backend.status();
  for (const WeightFormat format : kAllFormats) {
    const int64_t cols = WholeBlocks(format, 96);
    Case c = MakeCase(format, Activation::kI8, 50, cols, 3, Data::kPlain, random);
    c.source.bias.assign(50, 1.0F);
    const int64_t predicted = (*backend)->PreparedBytes(c.source);
    const auto matrix = (*backend)->PrepareMatrix(c.source);
    ASSERT_TRUE(matrix.ok());
    EXPECT_EQ((*matrix)->bytes(), predicted);
    EXPECT_EQ(predicted, 4 * 16 * (StoredRowBytes(format, cols) + 4)) << "whole tiles of 16 rows";
  }
}

class RefusedMatrix : public ::testing::Test {
 protected:
  void ExpectRefused(const Case& c, const std::string& reason) {
    for (const char* name : {"cpu", "reference"}) {
      const auto backend = CreateBackend(name);
      ASSERT_TRUE(backend.ok());
      const auto matrix = (*backend)->PrepareMatrix(c.source);
      ASSERT_FALSE(matrix.ok()) << reason;
      EXPECT_EQ(matrix.status().code(), absl::StatusCode::kInvalidArgument);
      const std::string message(matrix.status().message());
      EXPECT_NE(message.find("'test'"), std::string::npos) << message;
      EXPECT_NE(message.find(reason), std::string::npos) << message;
    }
  }
  Random random_{22};
};

TEST_F(RefusedMatrix, HasALeafBorderInsideAGroup) {
  Case c = MakeCase(WeightFormat::kQ4_1, Activation::kI8, 16, 64, 2, Data::kPlain, random_);
  c.source.leaves.borders = {0, 16, 64};
  ExpectRefused(c, "column 16");
}

TEST_F(RefusedMatrix, HasLeavesThatDoNotCoverTheColumnsOrRunBackwards) {
  Case c = MakeCase(WeightFormat::kF32, Activation::kF32, 16, 64, 2, Data::kPlain, random_);
  c.source.leaves.borders = {0, 32};
  ExpectRefused(c, "do not cover its 64 columns");
  c.source.leaves.borders = {0, 40, 40, 64};
  ExpectRefused(c, "leaf 1 is empty");
}

TEST_F(RefusedMatrix, HasPartsOfDifferentWidth) {
  Case c = MakeCase(WeightFormat::kF32, Activation::kF32, 16, 64, 2, Data::kPlain, random_);
  c.matrices.push_back(MakeMatrix(WeightFormat::kF32, 16, 32, Data::kPlain, random_));
  c.source.parts = {c.matrices[0].View(), c.matrices[1].View()};
  ExpectRefused(c, "64 and 32 columns");
}

TEST_F(RefusedMatrix, HasABiasOfAnotherLength) {
  Case c = MakeCase(WeightFormat::kF32, Activation::kF32, 16, 64, 2, Data::kPlain, random_);
  c.source.bias.assign(15, 0.0F);
  ExpectRefused(c, "15 bias values");
  c.source.bias.assign(16, std::numeric_limits<float>::infinity());
  ExpectRefused(c, "bias");
}

TEST(PrepareMatrix, RefusesInfiniteAndNanScalesMinimaAndWeights) {
  Random random(23);
  struct Place {
    WeightFormat format;
    size_t byte;  // high byte of a value in row 3
  };
  for (const Place place :
       {Place{WeightFormat::kQ8_0, 1}, Place{WeightFormat::kQ4_0, 1}, Place{WeightFormat::kQ4_1, 1},
        Place{WeightFormat::kQ4_1, 3}, Place{WeightFormat::kF16, 1}, Place{WeightFormat::kQ5_0, 1},
        Place{WeightFormat::kQ5_1, 3}, Place{WeightFormat::kQ4_K, 1}, Place{WeightFormat::kQ4_K, 3},
        Place{WeightFormat::kQ5_K, 3}, Place{WeightFormat::kQ6_K, 209}}) {
    for (const uint8_t high : {uint8_t{0x7C}, uint8_t{0xFE}}) {
      Case c = MakeCase(place.format, Activation::kI8, 16, 64, 1, Data::kPlain, random);
      const auto row = static_cast<size_t>(3 * RowBytes(place.format, c.cols()));
      c.matrices[0].bytes[row + place.byte] = high;
      c.source.parts[0] = c.matrices[0].View();
      const auto matrix = cpu::CpuMatrix::Prepare(c.source);
      ASSERT_FALSE(matrix.ok()) << Name(place.format);
      EXPECT_NE(matrix.status().message().find("row 3"), std::string::npos) << matrix.status();
    }
  }
}

TEST(PrepareMatrix, RefusesAKScaleWhoseProductLeavesTheRangeOfHalf) {
  Random random(24);
  Case c = MakeCase(WeightFormat::kQ4_K, Activation::kI8, 16, 256, 1, Data::kPlain, random);
  c.matrices[0].bytes[1] = 0x7B;   // about 60000 ...
  c.matrices[0].bytes[4] |= 0x3F;  // ... times 63
  c.source.parts[0] = c.matrices[0].View();
  EXPECT_FALSE(cpu::CpuMatrix::Prepare(c.source).ok());
}

}  // namespace
}  // namespace shoal::kernels::testing
