// SPDX-License-Identifier: Apache-2.0
#include "kernels/cpu/cpu_stream.h"

#include "base/check.h"

namespace shoal::kernels::cpu {

uint8_t* Scratch::Get(int64_t bytes) {
  if (bytes > buffer_.bytes()) {
    buffer_ = AlignedBuffer();
    buffer_ = AlignedBuffer(bytes + bytes / 2);
    SHOAL_CHECK(buffer_.data() != nullptr);
  }
  return buffer_.data();
}

CpuStream::CpuStream(Isa isa, int threads)
    : isa_(isa), pool_(threads), thread_scratch_(static_cast<size_t>(threads)) {
  SHOAL_CHECK(IsSupported(isa));
}

}  // namespace shoal::kernels::cpu
