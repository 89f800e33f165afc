// SPDX-License-Identifier: Apache-2.0
// Tables that are gathered by row, in any weight format.
#pragma once

#include <cstdint>
#include <memory>
#include <span>

#include "absl/status/statusor.h"
#include "kernels/cpu/aligned_buffer.h"
#include "kernels/cpu/cpu_stream.h"
#include "kernels/tensor.h"
#include "kernels/weights.h"

namespace shoal::kernels::cpu {

// The rows as they lie in the file. Immutable after Prepare.
class CpuTable final : public PreparedTable {
 public:
  // Copies the rows. InvalidArgument for bad shapes; ResourceExhausted without memory.
  static absl::StatusOr<std::unique_ptr<CpuTable>> Prepare(const WeightView& view);

  int64_t rows() const override { return rows_; }
  int64_t cols() const override { return cols_; }
  int64_t bytes() const override { return bytes_.bytes(); }

  // Widens row `row` exactly as a matmul with float32 activations widens weights; out has cols().
  void WidenRow(int64_t row, float* out) const;

 private:
  CpuTable() = default;

  WeightFormat format_ = WeightFormat::kF32;
  int64_t rows_ = 0;
  int64_t cols_ = 0;
  AlignedBuffer bytes_;
};

// out[r] = table[tokens[r]] * scale; see DenseOps::Embed.
void Embed(CpuStream& stream, const CpuTable& table, std::span<const int32_t> tokens, float scale,
           const Tensor& out);

// Widens `cols` consecutive weights of a file; cols is a multiple of the block. Needs the float
// mode of float_mode.h.
void WidenWeights(WeightFormat format, const uint8_t* source, int64_t cols, float* out);

}  // namespace shoal::kernels::cpu
