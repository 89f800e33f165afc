// SPDX-License-Identifier: Apache-2.0
// The definition of the bits of weights times float32 activations (kernels.h).
#include <cmath>

#include "kernels/cpu/f16.h"
#include "kernels/cpu/portable/matmul.h"

namespace shoal::kernels::cpu::portable {
namespace {

float WeightFloat(WeightFormat format, const uint8_t* tile, int64_t lane, int64_t column) {
  const int64_t columns = StepColumns(format);
  const uint8_t* step = tile + column / columns * TileStepBytes(format);
  switch (format) {
    case WeightFormat::kF32:
      return Load<float>(step + 4 * lane);
    case WeightFormat::kF16:
      return F16ToFloat(Load<uint16_t>(step + 2 * lane));
    case WeightFormat::kBF16:
      return Bf16ToFloat(Load<uint16_t>(step + 2 * lane));
    default:
      return std::fma(static_cast<float>(WeightInt(format, step, lane, column % columns)),
                      WeightScale(format, step, lane),
                      HasMinimum(format) ? WeightMinimum(format, step, lane) : 0.0f);
  }
}

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

}  // namespace

const MatMulTable kFloat32Kernels = {
    MatMulFloat32<WeightFormat::kF32>,  MatMulFloat32<WeightFormat::kF16>,
    MatMulFloat32<WeightFormat::kBF16>, MatMulFloat32<WeightFormat::kQ8_0>,
    MatMulFloat32<WeightFormat::kQ4_0>, MatMulFloat32<WeightFormat::kQ4_1>,
    MatMulFloat32<WeightFormat::kQ5_0>, MatMulFloat32<WeightFormat::kQ5_1>,
    MatMulFloat32<WeightFormat::kQ6_K>};

}  // namespace shoal::kernels::cpu::portable
