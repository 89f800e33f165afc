// SPDX-License-Identifier: Apache-2.0
// The matmul op of the cpu backend: cuts a batch into panels, quantises it where the weights ask
// for it, and spreads the tiles of the weights over the threads.
#pragma once

#include "kernels/cpu/cpu_stream.h"
#include "kernels/cpu/matmul/prepared_matrix.h"
#include "kernels/tensor.h"

namespace shoal::kernels::cpu {

enum class MatMulResult : uint8_t { kReplace, kAccumulate };

// in [R, K] float32, out [R, N] float32; they do not overlap. kReplace: out = in * W^T + bias;
// kAccumulate: out = out + (in * W^T + bias). kernels.h defines the bits.
void MatMul(CpuStream& stream, const Tensor& in, const CpuMatrix& weight, const Tensor& out,
            MatMulResult result);

}  // namespace shoal::kernels::cpu
