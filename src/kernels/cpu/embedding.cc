// SPDX-License-Identifier: Apache-2.0
#include "kernels/cpu/embedding.h"

#include <cmath>
#include <cstring>

#include "absl/status/status.h"
#include "absl/strings/str_cat.h"
#include "base/check.h"
#include "kernels/cpu/f16.h"
#include "kernels/cpu/float_mode.h"

namespace shoal::kernels::cpu {
namespace {

constexpr int64_t kGroupWeights = 32;

uint16_t Load16(const uint8_t* bytes) {
  uint16_t value;
  std::memcpy(&value, bytes, sizeof(value));
  return value;
}

void WidenQ8(const uint8_t* group, float* out) {
  const float scale = F16ToFloat(Load16(group));
  for (int64_t k = 0; k < kGroupWeights; ++k) {
    out[k] = static_cast<float>(static_cast<int8_t>(group[2 + k])) * scale;
  }
}

void WidenQ40(const uint8_t* group, float* out) {
  const float scale = F16ToFloat(Load16(group));
  for (int64_t k = 0; k < 16; ++k) {
    out[k] = static_cast<float>((group[2 + k] & 15) - 8) * scale;
    out[k + 16] = static_cast<float>((group[2 + k] >> 4) - 8) * scale;
  }
}

void WidenQ41(const uint8_t* group, float* out) {
  const float scale = F16ToFloat(Load16(group));
  const float minimum = F16ToFloat(Load16(group + 2));
  for (int64_t k = 0; k < 16; ++k) {
    out[k] = std::fma(static_cast<float>(group[4 + k] & 15), scale, minimum);
    out[k + 16] = std::fma(static_cast<float>(group[4 + k] >> 4), scale, minimum);
  }
}

void WidenGroups(const uint8_t* source, int64_t cols, int64_t group_bytes,
                 void (*widen)(const uint8_t*, float*), float* out) {
  for (int64_t k = 0; k < cols; k += kGroupWeights) {
    widen(source + k / kGroupWeights * group_bytes, out + k);
  }
}

}  // namespace

void WidenWeights(WeightFormat format, const uint8_t* source, int64_t cols, float* out) {
  const int64_t group_bytes = RowBytes(format, GroupSize(format));
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
    case WeightFormat::kQ8_0:
      return WidenGroups(source, cols, group_bytes, WidenQ8, out);
    case WeightFormat::kQ4_0:
      return WidenGroups(source, cols, group_bytes, WidenQ40, out);
    case WeightFormat::kQ4_1:
      return WidenGroups(source, cols, group_bytes, WidenQ41, out);
  }
}

absl::StatusOr<std::unique_ptr<CpuTable>> CpuTable::Prepare(const WeightView& view) {
  if (view.rows <= 0 || view.cols <= 0 || view.data == nullptr) {
    return absl::InvalidArgumentError(
        absl::StrCat("embedding table of ", view.rows, " x ", view.cols, " has no data"));
  }
  if (view.cols % GroupSize(view.format) != 0) {
    return absl::InvalidArgumentError(absl::StrCat("embedding table: ", view.cols,
                                                   " columns are not a multiple of the ",
                                                   Name(view.format), " group"));
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
