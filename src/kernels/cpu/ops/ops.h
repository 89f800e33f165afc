// SPDX-License-Identifier: Apache-2.0
// The cpu backend's ops other than matrix products and embedding. Contracts are those of DenseOps,
// AttentionOps and SamplingOps (kernels/backend.h); the bits are defined in op_kernels.h. Threads
// split rows, (sequence, head, row block) or (sequence, head, split), never a sum.
#pragma once

#include <cstdint>
#include <memory>
#include <span>

#include "kernels/attention.h"
#include "kernels/backend.h"
#include "kernels/cpu/cpu_stream.h"
#include "kernels/cpu/isa.h"
#include "kernels/tensor.h"

namespace shoal::kernels::cpu {

void RmsNorm(CpuStream& stream, const Tensor& x, std::span<const float> weight, float eps,
             const Tensor& out);
void LayerNorm(CpuStream& stream, const Tensor& x, std::span<const float> weight,
               std::span<const float> bias, float eps, const Tensor& out);
void HeadRmsNorm(CpuStream& stream, const Tensor& x, std::span<const float> weight, float eps,
                 const Tensor& out);
void Rope(CpuStream& stream, const RopeTable& table, std::span<const int32_t> positions,
          int64_t head_dim, const Tensor& x);
void SiluMul(CpuStream& stream, const Tensor& gate_up, const Tensor& out);
void GeluMul(CpuStream& stream, const Tensor& gate_up, const Tensor& out);
void Gelu(CpuStream& stream, const Tensor& x);
void Softcap(CpuStream& stream, float cap, const Tensor& x);
void Add(CpuStream& stream, const Tensor& y, const Tensor& x);
void GatherRows(CpuStream& stream, const Tensor& x, std::span<const int32_t> rows,
                const Tensor& out);

// The streams passed to these ops are CpuStreams. Pools must pass CheckKvLayout. Float16 keys and
// values are rounded to nearest even and saturate at +-65504; NaN stays NaN.
std::unique_ptr<AttentionOps> CreateCpuAttentionOps(Isa isa);

// See sampler.h for what is drawn.
std::unique_ptr<SamplingOps> CreateCpuSamplingOps(Isa isa);

}  // namespace shoal::kernels::cpu
