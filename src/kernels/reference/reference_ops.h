// SPDX-License-Identifier: Apache-2.0
// The reference backend's ops other than matrix products and embedding: straight loops in double
// on the calling thread, written from the definitions and sharing no arithmetic with the cpu
// kernels. They judge other backends by tolerance. Contracts are those of kernels/backend.h; the
// KV pool has the cpu's layout and rounding. Streams are ignored and may be of any type.
#pragma once

#include <cstdint>
#include <memory>
#include <span>

#include "kernels/attention.h"
#include "kernels/backend.h"
#include "kernels/tensor.h"

namespace shoal::kernels::reference {

void RmsNorm(const Tensor& x, std::span<const float> weight, float eps, const Tensor& out);
void LayerNorm(const Tensor& x, std::span<const float> weight, std::span<const float> bias,
               float eps, const Tensor& out);
void HeadRmsNorm(const Tensor& x, std::span<const float> weight, float eps, const Tensor& out);
void Rope(const RopeTable& table, std::span<const int32_t> positions, int64_t head_dim,
          const Tensor& x);
void SiluMul(const Tensor& gate_up, const Tensor& out);
void GeluMul(const Tensor& gate_up, const Tensor& out);
void Gelu(const Tensor& x);
void Softcap(float cap, const Tensor& x);
void Add(const Tensor& y, const Tensor& x);
void GatherRows(const Tensor& x, std::span<const int32_t> rows, const Tensor& out);

std::unique_ptr<AttentionOps> CreateReferenceAttentionOps();

// Sorts every row; filters and order of the draw as in cpu/ops/sampler.h.
std::unique_ptr<SamplingOps> CreateReferenceSamplingOps();

}  // namespace shoal::kernels::reference
