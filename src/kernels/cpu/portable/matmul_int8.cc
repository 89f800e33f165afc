// SPDX-License-Identifier: Apache-2.0
// The definition of the bits of block-quantised weights times int8 activations (kernels.h).
#include <bit>
#include <cmath>
#include <cstring>
#include <limits>

#include "kernels/cpu/f16.h"
#include "kernels/cpu/matmul/layout.h"
#include "kernels/cpu/portable/matmul.h"

namespace shoal::kernels::cpu::portable {

namespace {

// Integer k of a group that holds nibbles in `quads` quads of bytes: low, then high.
int NibbleAt(const uint8_t* group, int64_t quads, int64_t lane, int64_t k) {
  const int64_t quad = k / 4;
  const uint8_t byte = group[quad % quads * 4 * kTile + lane * 4 + k % 4];
  return quad < quads ? byte & 15 : byte >> 4;
}

}  // namespace

int WeightInt(WeightFormat format, const uint8_t* group, int64_t lane, int64_t k) {
  const int64_t place = lane * 4 + k % 4;  // in its quad
  const uint8_t* upper = group + UpperBitsOffset(format);
  switch (format) {
    case WeightFormat::kQ8_0:
      return static_cast<int8_t>(group[k / 4 * 4 * kTile + place]);
    case WeightFormat::kQ4_0:
    case WeightFormat::kQ4_1:
      return NibbleAt(group, 4, lane, k) - QuantOffset(format);
    case WeightFormat::kQ6_K:
      return (NibbleAt(group, 2, lane, k) | (upper[place] >> k / 4 * 2 & 3) << 4) -
             QuantOffset(format);
    default: {  // q5_x
      const int fifth = upper[k / 4 * 8 + place / 8] >> place % 8 & 1;
      return (NibbleAt(group, 4, lane, k) | fifth << 4) - QuantOffset(format);
    }
  }
}

float WeightScale(WeightFormat format, const uint8_t* group, int64_t lane) {
  return F16ToFloat(Load<uint16_t>(group + ScaleOffset(format) + 2 * lane));
}

float WeightMinimum(WeightFormat format, const uint8_t* group, int64_t lane) {
  return F16ToFloat(Load<uint16_t>(group + MinimumOffset(format) + 2 * lane));
}

float TreeSum(const float* sums, int64_t count) {
  if (count == 1) return sums[0];
  const int64_t left = (count + 1) / 2;
  return TreeSum(sums, left) + TreeSum(sums + left, count - left);
}

void Emit(const MatMulArgs& args, int64_t row, int64_t output, float sum) {
  const float value = args.bias == nullptr ? sum : sum + args.bias[output];
  float& out = args.out[row * args.out_stride + output];
  out = args.accumulate ? out + value : value;
}

namespace {

// One leaf of one output of row `row` of the panel.
float LeafSum(WeightFormat format, const uint8_t* tile, int64_t lane, const LeafStep& leaf,
              const Panel& panel, int64_t row) {
  const int64_t group = StepColumns(format);
  float acc = 0.0f;
  for (int64_t g = leaf.begin / group; g < leaf.end / group; ++g) {
    const uint8_t* weights = tile + g * TileStepBytes(format);
    const uint8_t* inputs = panel.data + g * PanelGroupBytes(group, panel.height);
    int32_t isum = 0;
    for (int64_t k = 0; k < group; ++k) {
      isum += WeightInt(format, weights, lane, k) * static_cast<int8_t>(inputs[row * group + k]);
    }
    const float scale = Load<float>(inputs + PanelScaleOffset(group, panel.height) + 4 * row);
    const float t = std::fma(static_cast<float>(isum), WeightScale(format, weights, lane), 0.0f);
    acc = std::fma(t, scale, acc);
    if (HasMinimum(format)) {
      const float scaled_sum = Load<float>(inputs + PanelScaledSumOffset(panel.height) + 4 * row);
      acc = std::fma(WeightMinimum(format, weights, lane), scaled_sum, acc);
    }
  }
  return acc;
}

template <WeightFormat kFormat>
void MatMulInt8(const MatMulArgs& args) {
  float* sums = reinterpret_cast<float*>(args.scratch);
  for (int64_t p = 0; p < args.panel_count; ++p) {
    const Panel& panel = args.panels[p];
    for (int64_t row = 0; row < panel.rows; ++row) {
      ForEachOutput(args, [&](const uint8_t* tile, int64_t lane, int64_t output) {
        for (int64_t i = 0; i < args.leaf_count; ++i) {
          sums[i] = LeafSum(kFormat, tile, lane, args.leaves[i], panel, row);
        }
        Emit(args, panel.first_row + row, output, TreeSum(sums, args.leaf_count));
      });
    }
  }
}

template <int64_t kColumns>
void QuantiseGroup(const float* x, int64_t height, int64_t row, uint8_t* group) {
  uint32_t amax_bits = 0;
  for (int64_t k = 0; k < kColumns; ++k) {
    const uint32_t bits = std::bit_cast<uint32_t>(x[k]) & 0x7FFFFFFFu;
    if (bits > amax_bits) amax_bits = bits;
  }
  const bool finite = amax_bits < 0x7F800000u;
  const float amax = finite ? std::bit_cast<float>(amax_bits) : 0.0f;
  float scale = amax / 127.0f;
  const float inverse = scale > 0.0f ? 1.0f / scale : 0.0f;
  int32_t sum = 0;
  for (int64_t k = 0; k < kColumns; ++k) {
    const auto q = finite ? static_cast<int32_t>(std::lrint(x[k] * inverse)) : 0;
    group[row * kColumns + k] = static_cast<uint8_t>(q);
    sum += q;
  }
  if (!finite) scale = std::numeric_limits<float>::quiet_NaN();
  Store(group + PanelScaleOffset(kColumns, height) + 4 * row, scale);
  if (kColumns == 16) {
    Store(group + PanelStart32Offset(height) + 4 * row, kMagicBits - 32 * sum);
    return;
  }
  Store(group + PanelScaledSumOffset(height) + 4 * row, scale * static_cast<float>(sum));
  Store(group + PanelStart8Offset(height) + 4 * row, kMagicBits - 8 * sum);
  Store(group + PanelStart128Offset(height) + 4 * row, kMagicBits - 128 * sum);
}

template <int64_t kColumns>
void QuantiseRow(const float* x, int64_t groups, int64_t height, int64_t row, uint8_t* panel) {
  for (int64_t g = 0; g < groups; ++g) {
    QuantiseGroup<kColumns>(x + g * kColumns, height, row,
                            panel + g * PanelGroupBytes(kColumns, height));
  }
}

constexpr MatMulTable kInt8Kernels = {nullptr,
                                      nullptr,
                                      nullptr,
                                      MatMulInt8<WeightFormat::kQ8_0>,
                                      MatMulInt8<WeightFormat::kQ4_0>,
                                      MatMulInt8<WeightFormat::kQ4_1>,
                                      MatMulInt8<WeightFormat::kQ5_0>,
                                      MatMulInt8<WeightFormat::kQ5_1>,
                                      MatMulInt8<WeightFormat::kQ6_K>};

}  // namespace

const MatMulKernels kMatMulKernels = {
    .int8 = kInt8Kernels,
    .float32 = kFloat32Kernels,
    .quantise_row = QuantiseRow<32>,
    .quantise_row_16 = QuantiseRow<16>,
    .int8_height = 1,
    .float32_height = 1,
};

}  // namespace shoal::kernels::cpu::portable
