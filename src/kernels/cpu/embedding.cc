// SPDX-License-Identifier: Apache-2.0
#include "kernels/cpu/embedding.h"

#include <cmath>
#include <cstring>

#include "absl/status/status.h"
#include "absl/strings/str_cat.h"
#include "base/check.h"
#include "kernels/cpu/f16.h"
#include "kernels/cpu/float_mode.h"
#include "kernels/cpu/matmul/block_group.h"

namespace shoal::kernels::cpu {
namespace {

uint16_t Load16(const uint8_t* bytes) {
  uint16_t value;
  std::memcpy(&value, bytes, sizeof(value));
  return value;
}

void WidenGroup(WeightFormat format, const BlockGroup& group, float* out) {
  const float scale = F16ToFloat(group.scale);
  const float minimum = F16ToFloat(group.minimum);  // +0 where there is none
  const int offset = QuantOffset(format);
  for (int64_t k = 0; k < GroupSize(format); ++k) {
    const int q = format == WeightFormat::kQ8_0 ? static_cast<int8_t>(group.q[k])
                                                : static_cast<int>(group.q[k]) - offset;
    out[k] = std::fma(static_cast<float>(q), scale, minimum);
  }
}

}  // namespace

void WidenWeights(WeightFormat format, const uint8_t* source, int64_t cols, float* out) {
  switch (format) {
    case WeightFormat::kF32:
      std::memcpy(out, source, static_cast<size_t>(cols) * sizeof(float));
      return;
    case WeightFormat::kF16:
      for (int64_t k = 0; k < cols; ++k) out[k] = F16ToFloat(Load16(source + 2 * k));
      return;
    case WeightFormat::kBF16:
      for (int64_t k = 0; k < cols; ++k) out[k] = Bf16ToFloat(Load16(source + 2 * k));
      return;
    default:
      break;
  }
  const int64_t block = BlockSize(format);
  const int64_t group = GroupSize(format);
  for (int64_t k = 0; k < cols; k += group) {
    WidenGroup(format,
               DecodeGroup(format, source + RowBytes(format, k / block * block), k % block / group),
               out + k);
  }
}

absl::StatusOr<std::unique_ptr<CpuTable>> CpuTable::Prepare(const WeightView& view) {
  if (view.rows <= 0 || view.cols <= 0 || view.data == nullptr) {
    return absl::InvalidArgumentError(
        absl::StrCat("embedding table of ", view.rows, " x ", view.cols, " has no data"));
  }
  if (view.cols % BlockSize(view.format) != 0) {
    return absl::InvalidArgumentError(
        absl::StrCat("embedding table: ", view.cols, " columns are not a multiple of the ",
                     Name(view.format), " block of ", BlockSize(view.format)));
  }
  std::unique_ptr<CpuTable> table(new CpuTable);
  table->format_ = view.format;
  table->rows_ = view.rows;
  table->cols_ = view.cols;
  const int64_t bytes = view.rows * RowBytes(view.format, view.cols);
  table->bytes_ = AlignedBuffer(bytes);
  if (table->bytes_.data() == nullptr) {
    return absl::ResourceExhaustedError(
        absl::StrCat("embedding table: no memory for ", bytes, " bytes"));
  }
  std::memcpy(table->bytes_.data(), view.data, static_cast<size_t>(bytes));
  return table;
}

void CpuTable::WidenRow(int64_t row, float* out) const {
  SHOAL_CHECK(row >= 0);
  SHOAL_CHECK(row < rows_);
  WidenWeights(format_, bytes_.data() + row * RowBytes(format_, cols_), cols_, out);
}

void Embed(CpuStream& stream, const CpuTable& table, std::span<const int32_t> tokens, float scale,
           const Tensor& out) {
  SHOAL_CHECK(out.rank == 2);
  SHOAL_CHECK(out.dtype == DType::kF32);
  SHOAL_CHECK(out.dim(0) == static_cast<int64_t>(tokens.size()));
  SHOAL_CHECK(out.dim(1) == table.cols());
  stream.pool().ParallelFor(out.dim(0), [&](int64_t r, int) {
    float* row = out.Row<float>(r);
    table.WidenRow(tokens[static_cast<size_t>(r)], row);
    for (int64_t k = 0; k < table.cols(); ++k) row[k] *= scale;
  });
}

}  // namespace shoal::kernels::cpu
