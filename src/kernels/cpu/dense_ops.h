// SPDX-License-Identifier: Apache-2.0
// DenseOps of the cpu backend: matmul and embedding here, the element-wise ops in cpu/ops/.
#pragma once

#include "kernels/backend.h"

namespace shoal::kernels::cpu {

// Stateless; Streams are CpuStreams, matrices CpuMatrix, tables CpuTable.
class CpuDenseOps final : public DenseOps {
 public:
  void Embed(Stream& stream, const PreparedTable& table, std::span<const int32_t> tokens,
             float scale, const Tensor& out) override;
  void RmsNorm(Stream& stream, const Tensor& x, std::span<const float> weight, float eps,
               const Tensor& out) override;
  void LayerNorm(Stream& stream, const Tensor& x, std::span<const float> weight,
                 std::span<const float> bias, float eps, const Tensor& out) override;
  void HeadRmsNorm(Stream& stream, const Tensor& x, std::span<const float> weight, float eps,
                   const Tensor& out) override;
  void MatMul(Stream& stream, const Tensor& in, const PreparedMatrix& weight,
              const Tensor& out) override;
  void MatMulAdd(Stream& stream, const Tensor& in, const PreparedMatrix& weight,
                 const Tensor& residual) override;
  void Rope(Stream& stream, const RopeTable& table, std::span<const int32_t> positions,
            int64_t head_dim, const Tensor& x) override;
  void SiluMul(Stream& stream, const Tensor& gate_up, const Tensor& out) override;
  void GeluMul(Stream& stream, const Tensor& gate_up, const Tensor& out) override;
  void Gelu(Stream& stream, const Tensor& x) override;
  void Softcap(Stream& stream, float cap, const Tensor& x) override;
  void Add(Stream& stream, const Tensor& y, const Tensor& x) override;
  void GatherRows(Stream& stream, const Tensor& x, std::span<const int32_t> rows,
                  const Tensor& out) override;
};

}  // namespace shoal::kernels::cpu
