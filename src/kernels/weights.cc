// SPDX-License-Identifier: Apache-2.0
#include "kernels/weights.h"

#include <algorithm>

#include "base/check.h"

namespace shoal::kernels {
namespace {

// Bytes of one quantisation group.
int64_t GroupBytes(WeightFormat format) {
  switch (format) {
    case WeightFormat::kF32:
      return 4;
    case WeightFormat::kF16:
    case WeightFormat::kBF16:
      return 2;
    case WeightFormat::kQ8_0:
      return 2 + 32;  // f16 scale, 32 int8
    case WeightFormat::kQ4_0:
      return 2 + 16;  // f16 scale, 32 nibbles
    case WeightFormat::kQ4_1:
      return 2 + 2 + 16;  // f16 scale, f16 minimum, 32 nibbles
  }
  return 0;
}

}  // namespace

const char* Name(WeightFormat format) {
  switch (format) {
    case WeightFormat::kF32:
      return "f32";
    case WeightFormat::kF16:
      return "f16";
    case WeightFormat::kBF16:
      return "bf16";
    case WeightFormat::kQ8_0:
      return "q8_0";
    case WeightFormat::kQ4_0:
      return "q4_0";
    case WeightFormat::kQ4_1:
      return "q4_1";
  }
  return "?";
}

int64_t GroupSize(WeightFormat format) { return IsBlockQuantised(format) ? 32 : 1; }

int64_t RowBytes(WeightFormat format, int64_t cols) {
  SHOAL_CHECK(cols % GroupSize(format) == 0);
  return cols / GroupSize(format) * GroupBytes(format);
}

bool IsBlockQuantised(WeightFormat format) {
  switch (format) {
    case WeightFormat::kF32:
    case WeightFormat::kF16:
    case WeightFormat::kBF16:
      return false;
    case WeightFormat::kQ8_0:
    case WeightFormat::kQ4_0:
    case WeightFormat::kQ4_1:
      return true;
  }
  return false;
}

LeafPlan MakeLeafPlan(int64_t cols, int64_t granule, int64_t shards) {
  SHOAL_CHECK(cols > 0);
  SHOAL_CHECK(granule > 0);
  SHOAL_CHECK(shards > 0);
  const int64_t granules = (cols + granule - 1) / granule;
  const int64_t leaves = std::min(shards, granules);
  LeafPlan plan;
  plan.borders.reserve(static_cast<size_t>(leaves + 1));
  for (int64_t i = 0; i <= leaves; ++i) {
    plan.borders.push_back(std::min(i * granules / leaves * granule, cols));
  }
  return plan;
}

LeafPlan SingleLeaf(int64_t cols) { return MakeLeafPlan(cols, cols, 1); }

}  // namespace shoal::kernels
