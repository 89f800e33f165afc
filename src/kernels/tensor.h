// SPDX-License-Identifier: Apache-2.0
// Non-owning views of typed memory. Storage belongs to named arenas and pools whose byte counts
// `shoal check` predicts; a Tensor never outlives the call it is passed to.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <initializer_list>

#include "base/check.h"

namespace shoal::kernels {

enum class DType : uint8_t { kF32, kF16, kBF16, kI32, kI8 };

// Bytes of one element.
constexpr int64_t ByteSize(DType dtype) {
  switch (dtype) {
    case DType::kF32:
    case DType::kI32:
      return 4;
    case DType::kF16:
    case DType::kBF16:
      return 2;
    case DType::kI8:
      return 1;
  }
  return 0;
}

const char* Name(DType dtype);

// Row-major, up to 4 dimensions; strides in elements, the last one is 1.
struct Tensor {
  static constexpr int kMaxRank = 4;

  void* data = nullptr;
  DType dtype = DType::kF32;
  int rank = 0;
  std::array<int64_t, kMaxRank> shape{};
  std::array<int64_t, kMaxRank> stride{};

  Tensor() = default;
  Tensor(void* data_in, DType dtype_in, std::initializer_list<int64_t> dims);

  int64_t elements() const;
  int64_t dim(int i) const { return shape[static_cast<size_t>(i)]; }

  // The rows [begin, begin + count) of dimension 0.
  Tensor Rows(int64_t begin, int64_t count) const;
  // The columns [begin, begin + count) of a rank-2 tensor; rows keep their stride.
  Tensor Columns(int64_t begin, int64_t count) const;

  template <typename T>
  T* Data() const {
    return static_cast<T*>(data);
  }
  // Pointer to row i of a rank-2 (or higher) tensor.
  template <typename T>
  T* Row(int64_t i) const {
    return static_cast<T*>(data) + i * stride[0];
  }
};

}  // namespace shoal::kernels
