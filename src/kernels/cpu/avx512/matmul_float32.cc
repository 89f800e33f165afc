// SPDX-License-Identifier: Apache-2.0
#include "kernels/cpu/matmul/float32_kernels.h"

#include "kernels/cpu/avx512/matmul_lanes.h"

namespace shoal::kernels::cpu::avx512 {

const MatMulTable kFloat32Kernels = {
    MatMulFloat32<Lanes, WeightFormat::kF32>,  MatMulFloat32<Lanes, WeightFormat::kF16>,
    MatMulFloat32<Lanes, WeightFormat::kBF16>, MatMulFloat32<Lanes, WeightFormat::kQ8_0>,
    MatMulFloat32<Lanes, WeightFormat::kQ4_0>, MatMulFloat32<Lanes, WeightFormat::kQ4_1>,
    MatMulFloat32<Lanes, WeightFormat::kQ5_0>, MatMulFloat32<Lanes, WeightFormat::kQ5_1>,
    MatMulFloat32<Lanes, WeightFormat::kQ6_K>};

}  // namespace shoal::kernels::cpu::avx512
