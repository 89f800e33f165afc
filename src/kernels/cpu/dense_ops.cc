// SPDX-License-Identifier: Apache-2.0
#include "kernels/cpu/dense_ops.h"

#include "kernels/cpu/cpu_stream.h"
#include "kernels/cpu/embedding.h"
#include "kernels/cpu/matmul/matmul.h"
#include "kernels/cpu/ops/ops.h"

namespace shoal::kernels::cpu {

void CpuDenseOps::Embed(Stream& stream, const PreparedTable& table, std::span<const int32_t> tokens,
                        float scale, const Tensor& out) {
  cpu::Embed(CpuStream::From(stream), static_cast<const CpuTable&>(table), tokens, scale, out);
}

void CpuDenseOps::RmsNorm(Stream& stream, const Tensor& x, std::span<const float> weight, float eps,
                          const Tensor& out) {
  cpu::RmsNorm(CpuStream::From(stream), x, weight, eps, out);
}

void CpuDenseOps::LayerNorm(Stream& stream, const Tensor& x, std::span<const float> weight,
                            std::span<const float> bias, float eps, const Tensor& out) {
  cpu::LayerNorm(CpuStream::From(stream), x, weight, bias, eps, out);
}

void CpuDenseOps::HeadRmsNorm(Stream& stream, const Tensor& x, std::span<const float> weight,
                              float eps, const Tensor& out) {
  cpu::HeadRmsNorm(CpuStream::From(stream), x, weight, eps, out);
}

void CpuDenseOps::MatMul(Stream& stream, const Tensor& in, const PreparedMatrix& weight,
                         const Tensor& out) {
  cpu::MatMul(CpuStream::From(stream), in, static_cast<const CpuMatrix&>(weight), out,
              MatMulResult::kReplace);
}

void CpuDenseOps::MatMulAdd(Stream& stream, const Tensor& in, const PreparedMatrix& weight,
                            const Tensor& residual) {
  cpu::MatMul(CpuStream::From(stream), in, static_cast<const CpuMatrix&>(weight), residual,
              MatMulResult::kAccumulate);
}

void CpuDenseOps::Rope(Stream& stream, const RopeTable& table, std::span<const int32_t> positions,
                       int64_t head_dim, const Tensor& x) {
  cpu::Rope(CpuStream::From(stream), table, positions, head_dim, x);
}

void CpuDenseOps::SiluMul(Stream& stream, const Tensor& gate_up, const Tensor& out) {
  cpu::SiluMul(CpuStream::From(stream), gate_up, out);
}

void CpuDenseOps::GeluMul(Stream& stream, const Tensor& gate_up, const Tensor& out) {
  cpu::GeluMul(CpuStream::From(stream), gate_up, out);
}

void CpuDenseOps::Gelu(Stream& stream, const Tensor& x) { cpu::Gelu(CpuStream::From(stream), x); }

void CpuDenseOps::Softcap(Stream& stream, float cap, const Tensor& x) {
  cpu::Softcap(CpuStream::From(stream), cap, x);
}

void CpuDenseOps::Add(Stream& stream, const Tensor& y, const Tensor& x) {
  cpu::Add(CpuStream::From(stream), y, x);
}

void CpuDenseOps::GatherRows(Stream& stream, const Tensor& x, std::span<const int32_t> rows,
                             const Tensor& out) {
  cpu::GatherRows(CpuStream::From(stream), x, rows, out);
}

}  // namespace shoal::kernels::cpu
