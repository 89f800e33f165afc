// SPDX-License-Identifier: Apache-2.0
// Instantiates the table of row kernels for the vector types of one instruction set.
#pragma once

#include "kernels/cpu/ops/attention_inl.h"
#include "kernels/cpu/ops/elementwise_inl.h"
#include "kernels/cpu/ops/op_kernels.h"
#include "kernels/cpu/ops/sampling_inl.h"

namespace shoal::kernels::cpu {

// V: sixteen floats, D: eight doubles.
template <class V, class D>
constexpr OpKernels MakeOpKernels() {
  return OpKernels{
      .exp_row = ExpRowKernel<V>,
      .tanh_row = TanhRowKernel<V>,
      .rms_norm = RmsNormKernel<V>,
      .layer_norm = LayerNormKernel<V>,
      .silu_mul = SiluMulKernel<V>,
      .gelu_mul = GeluMulKernel<V>,
      .gelu = GeluKernel<V>,
      .softcap = SoftcapKernel<V>,
      .add = AddKernel<V>,
      .rope_angles = RopeAnglesKernel<D>,
      .rotate_neox = RotateNeoxKernel<V>,
      .rotate_interleaved = RotateInterleavedKernel<V>,
      .to_half = ToHalfKernel<V>,
      .load_keys = LoadKeysKernel<V>,
      .load_values = LoadValuesKernel<V>,
      .reset_state = ResetStateKernel<V>,
      .attend_tile = AttendTileKernel<V>,
      .fold_split = FoldSplitKernel<V>,
      .finish_row = FinishRowKernel<V>,
      .clean_logits = CleanLogitsKernel<V>,
      .exp_sums = ExpSumsKernel<V>,
  };
}

}  // namespace shoal::kernels::cpu
