// SPDX-License-Identifier: Apache-2.0
// Owned, zero-initialised memory for weights, arenas and scratch.
#pragma once

#include <cstddef>
#include <cstdint>
#include <utility>

namespace shoal::kernels::cpu {

// Aligned to 64 bytes; large buffers are page-aligned and ask for huge pages. Movable. Readable up
// to kSlack bytes past its end, so that kernels may prefetch and load whole vectors.
class AlignedBuffer {
 public:
  static constexpr int64_t kSlack = 128;

  AlignedBuffer() = default;
  // data() is null when the system has no such memory (or bytes is 0).
  explicit AlignedBuffer(int64_t bytes);
  ~AlignedBuffer();
  AlignedBuffer(AlignedBuffer&& other) noexcept { *this = std::move(other); }
  AlignedBuffer& operator=(AlignedBuffer&& other) noexcept;

  uint8_t* data() const { return data_; }
  int64_t bytes() const { return bytes_; }

 private:
  uint8_t* data_ = nullptr;
  int64_t bytes_ = 0;
  int64_t mapped_ = 0;
};

}  // namespace shoal::kernels::cpu
