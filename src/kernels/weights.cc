// SPDX-License-Identifier: Apache-2.0
#include "kernels/weights.h"

#include <algorithm>

#include "base/check.h"

namespace shoal::kernels {
namespace {

struct FormatRow {
  const char* name;
  int64_t group;
  int64_t block;
  int64_t block_bytes;
};

// By WeightFormat.
constexpr FormatRow kFormats[] = {
    {"f32", 1, 1, 4},
    {"f16", 1, 1, 2},
    {"bf16", 1, 1, 2},
    {"q8_0", 32, 32, 2 + 32},              // f16 scale, int8
    {"q4_0", 32, 32, 2 + 16},              // f16 scale, nibbles
    {"q4_1", 32, 32, 2 + 2 + 16},          // f16 scale, f16 minimum, nibbles
    {"q5_0", 32, 32, 2 + 4 + 16},          // f16 scale, fifth bits, nibbles
    {"q5_1", 32, 32, 2 + 2 + 4 + 16},      // f16 scale, f16 minimum, fifth bits, nibbles
    {"q6_k", 16, 256, 128 + 64 + 16 + 2},  // nibbles, upper bits, int8 scales, f16 scale
    {"q4_k", 32, 256, 4 + 12 + 128},  // f16 scale and minimum, 6-bit scales and minima, nibbles
    {"q5_k", 32, 256, 4 + 12 + 32 + 128},  // the same with fifth bits
};

const FormatRow& RowOf(WeightFormat format) { return kFormats[static_cast<size_t>(format)]; }

}  // namespace

const char* Name(WeightFormat format) { return RowOf(format).name; }

int64_t GroupSize(WeightFormat format) { return RowOf(format).group; }

int64_t BlockSize(WeightFormat format) { return RowOf(format).block; }

int64_t RowBytes(WeightFormat format, int64_t cols) {
  const FormatRow& row = RowOf(format);
  SHOAL_CHECK(cols % row.block == 0);
  return cols / row.block * row.block_bytes;
}

bool IsBlockQuantised(WeightFormat format) { return GroupSize(format) > 1; }

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
