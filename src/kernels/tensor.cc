// SPDX-License-Identifier: Apache-2.0
#include "kernels/tensor.h"

namespace shoal::kernels {

const char* Name(DType dtype) {
  switch (dtype) {
    case DType::kF32:
      return "f32";
    case DType::kF16:
      return "f16";
    case DType::kBF16:
      return "bf16";
    case DType::kI32:
      return "i32";
    case DType::kI8:
      return "i8";
  }
  return "?";
}

Tensor::Tensor(void* data_in, DType dtype_in, std::initializer_list<int64_t> dims)
    : data(data_in), dtype(dtype_in), rank(static_cast<int>(dims.size())) {
  SHOAL_CHECK(dims.size() >= 1);
  SHOAL_CHECK(dims.size() <= static_cast<size_t>(kMaxRank));
  size_t i = 0;
  for (const int64_t dim : dims) {
    SHOAL_CHECK(dim >= 0);
    shape[i++] = dim;
  }
  int64_t step = 1;
  for (size_t d = dims.size(); d-- > 0;) {
    stride[d] = step;
    step *= shape[d];
  }
}

int64_t Tensor::elements() const {
  int64_t count = rank == 0 ? 0 : 1;
  for (int i = 0; i < rank; ++i) count *= dim(i);
  return count;
}

Tensor Tensor::Rows(int64_t begin, int64_t count) const {
  SHOAL_CHECK(rank >= 1);
  SHOAL_CHECK(begin >= 0);
  SHOAL_CHECK(count >= 0);
  SHOAL_CHECK(begin + count <= shape[0]);
  Tensor rows = *this;
  rows.data = static_cast<uint8_t*>(data) + begin * stride[0] * ByteSize(dtype);
  rows.shape[0] = count;
  return rows;
}

Tensor Tensor::Columns(int64_t begin, int64_t count) const {
  SHOAL_CHECK(rank == 2);
  SHOAL_CHECK(begin >= 0);
  SHOAL_CHECK(count >= 0);
  SHOAL_CHECK(begin + count <= shape[1]);
  Tensor columns = *this;
  columns.data = static_cast<uint8_t*>(data) + begin * ByteSize(dtype);
  columns.shape[1] = count;
  return columns;
}

}  // namespace shoal::kernels
