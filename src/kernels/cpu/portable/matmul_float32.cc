// SPDX-License-Identifier: Apache-2.0
// The definition of the bits of weights times float32 activations (kernels.h).
#include <cmath>

#include "kernels/cpu/f16.h"
#include "kernels/cpu/portable/matmul.h"

namespace shoal::kernels::cpu::portable {
namespace {

float WeightFloat(WeightFormat format, const uint8_t* tile, int64_t lane, int64_t column) {
  const uint8_t* step =
      tile + column / GroupSize(format) * TileStepBytes(format);  // its column or group
  switch (format) {
    case WeightFormat::kF32:
      return Load<float>(step + 4 * lane);
    case WeightFormat::kF16:
      return F16ToFloat(Load<uint16_t>(step + 2 * lane));
    case WeightFormat::kBF16:
      return Bf16ToFloat(Load<uint16_t>(step + 2 * lane));
    case WeightFormat::kQ8_0:
    case WeightFormat::kQ4_0:
      return std::fma(static_cast<float>(WeightInt(format, step, lane, column % kGroup)),
                      WeightScale(format, step, lane), 0.0f);
    case WeightFormat::kQ4_1:
      return std::fma(static_cast<float>(WeightInt(format, step, lane, column % kGroup)),
                      WeightScale(format, step, lane), WeightMinimum(format, step, lane));
  }
  return 0.0f;
}

}  // namespace

template <WeightFormat kFormat>
void MatMulFloat32(const MatMulArgs& args) {
  float* sums = reinterpret_cast<float*>(args.scratch);
  for (int64_t p = 0; p < args.panel_count; ++p) {
    const Panel& panel = args.panels[p];
    const float* inputs = reinterpret_cast<const float*>(panel.data);
    for (int64_t row = 0; row < panel.rows; ++row) {
      ForEachOutput(args, [&](const uint8_t* tile, int64_t lane, int64_t output) {
        for (int64_t i = 0; i < args.leaf_count; ++i) {
          float acc = 0.0f;
          for (int64_t k = args.leaves[i].begin; k < args.leaves[i].end; ++k) {
            const float weight = WeightFloat(kFormat, tile, lane, k);
            acc = std::fma(weight, inputs[k * panel.height + row], acc);
          }
          sums[i] = acc;
        }
        Emit(args, panel.first_row + row, output, TreeSum(sums, args.leaf_count));
      });
    }
  }
}

template void MatMulFloat32<WeightFormat::kF32>(const MatMulArgs&);
template void MatMulFloat32<WeightFormat::kF16>(const MatMulArgs&);
template void MatMulFloat32<WeightFormat::kBF16>(const MatMulArgs&);
template void MatMulFloat32<WeightFormat::kQ8_0>(const MatMulArgs&);
template void MatMulFloat32<WeightFormat::kQ4_0>(const MatMulArgs&);
template void MatMulFloat32<WeightFormat::kQ4_1>(const MatMulArgs&);

}  // namespace shoal::kernels::cpu::portable
