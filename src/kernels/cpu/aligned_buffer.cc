// SPDX-License-Identifier: Apache-2.0
#include "kernels/cpu/aligned_buffer.h"

#include <sys/mman.h>

#include "base/check.h"

namespace shoal::kernels::cpu {

AlignedBuffer::AlignedBuffer(int64_t bytes) {
  SHOAL_CHECK(bytes >= 0);
  if (bytes == 0) return;
  constexpr int64_t kPage = 4096;
  constexpr int64_t kHugePage = int64_t{2} << 20;
  const int64_t mapped = (bytes + kSlack + kPage - 1) / kPage * kPage;
  void* memory = mmap(nullptr, static_cast<size_t>(mapped), PROT_READ | PROT_WRITE,
                      MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  if (memory == MAP_FAILED) return;
  if (mapped >= kHugePage) madvise(memory, static_cast<size_t>(mapped), MADV_HUGEPAGE);
  data_ = static_cast<uint8_t*>(memory);
  bytes_ = bytes;
  mapped_ = mapped;
}

AlignedBuffer::~AlignedBuffer() {
  if (data_ != nullptr) munmap(data_, static_cast<size_t>(mapped_));
}

AlignedBuffer& AlignedBuffer::operator=(AlignedBuffer&& other) noexcept {
  std::swap(data_, other.data_);
  std::swap(bytes_, other.bytes_);
  std::swap(mapped_, other.mapped_);
  return *this;
}

}  // namespace shoal::kernels::cpu
