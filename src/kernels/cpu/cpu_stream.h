// SPDX-License-Identifier: Apache-2.0
// The stream of the cpu backend: ops run on the calling thread and its pool before they return.
#pragma once

#include <cstdint>
#include <vector>

#include "kernels/backend.h"
#include "kernels/cpu/aligned_buffer.h"
#include "kernels/cpu/isa.h"
#include "kernels/cpu/thread_pool.h"

namespace shoal::kernels::cpu {

// Memory that an op uses while it runs; kept and grown, never shrunk.
class Scratch {
 public:
  // At least `bytes`, 64-byte aligned, content undefined. An earlier pointer is dead.
  uint8_t* Get(int64_t bytes);
  template <typename T>
  T* Get(int64_t count) {
    return reinterpret_cast<T*>(Get(count * static_cast<int64_t>(sizeof(T))));
  }
  int64_t bytes() const { return buffer_.bytes(); }

 private:
  AlignedBuffer buffer_;
};

class CpuStream final : public Stream {
 public:
  // `isa` must be supported by this machine.
  CpuStream(Isa isa, int threads);

  absl::Status Synchronize() override { return absl::OkStatus(); }

  Isa isa() const { return isa_; }
  ThreadPool& pool() { return pool_; }
  // Shared by the threads of an op; taken before the op enters the pool. An op that calls another
  // op loses it.
  Scratch& shared_scratch() { return shared_scratch_; }
  // Of one compute thread; taken inside a pool task by that thread, valid until its next task.
  Scratch& thread_scratch(int thread) { return thread_scratch_[static_cast<size_t>(thread)].value; }

  static CpuStream& From(Stream& stream) { return static_cast<CpuStream&>(stream); }

 private:
  struct alignas(64) Padded {
    Scratch value;
  };

  Isa isa_;
  ThreadPool pool_;
  Scratch shared_scratch_;
  std::vector<Padded> thread_scratch_;
};

}  // namespace shoal::kernels::cpu
