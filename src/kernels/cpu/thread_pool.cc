// SPDX-License-Identifier: Apache-2.0
#include "kernels/cpu/thread_pool.h"

#include <linux/futex.h>
#include <sys/syscall.h>
#include <unistd.h>
#include <x86intrin.h>

#include <climits>

#include "base/check.h"
#include "kernels/cpu/float_mode.h"

namespace shoal::kernels::cpu {
namespace {

// About 30 us: longer than the gaps between the ops of a step, short against a time slice.
constexpr uint64_t kSpinCycles = 80'000;

void FutexWait(std::atomic<uint32_t>& word, uint32_t expected) {
  syscall(SYS_futex, &word, FUTEX_WAIT_PRIVATE, expected, nullptr, nullptr, 0);
}

void FutexWakeAll(std::atomic<uint32_t>& word) {
  syscall(SYS_futex, &word, FUTEX_WAKE_PRIVATE, INT_MAX, nullptr, nullptr, 0);
}

constexpr uint64_t Pack(uint32_t next, uint32_t end) { return uint64_t{end} << 32 | next; }

// Spins until `ready` or the bound is reached; the last value of ready().
template <typename Ready>
bool SpinUntil(Ready ready) {
  const uint64_t begin = __rdtsc();
  do {
    for (int i = 0; i < 16; ++i) {
      if (ready()) return true;
      _mm_pause();
    }
  } while (__rdtsc() - begin < kSpinCycles);
  return ready();
}

}  // namespace

ThreadPool::ThreadPool(int threads)
    : threads_(threads), ranges_(std::make_unique<Range[]>(static_cast<size_t>(threads))) {
  SHOAL_CHECK(threads >= 1);
  SHOAL_CHECK(threads <= kMaxThreads);
  workers_.reserve(static_cast<size_t>(threads - 1));
  for (int thread = 1; thread < threads; ++thread) {
    workers_.emplace_back([this, thread] { WorkerLoop(thread); });
  }
}

ThreadPool::~ThreadPool() {
  stop_.store(true);
  signal_.fetch_add(1);
  FutexWakeAll(signal_);
  for (std::thread& worker : workers_) worker.join();
}

void ThreadPool::Run(int64_t tasks, Invoke invoke, void* context) {
  SHOAL_CHECK(tasks >= 0);
  SHOAL_CHECK(tasks < kMaxTasks);
  if (threads_ == 1 || tasks <= 1) return RunSerially(tasks, invoke, context);

  const ScopedFloatMode mode;
  invoke_.store(invoke, std::memory_order_relaxed);
  context_.store(context, std::memory_order_relaxed);
  done_.store(0, std::memory_order_relaxed);
  for (int t = 0; t < threads_; ++t) {
    const auto begin = static_cast<uint32_t>(tasks * t / threads_);
    const auto end = static_cast<uint32_t>(tasks * (t + 1) / threads_);
    ranges_[static_cast<size_t>(t)].packed.store(Pack(begin, end), std::memory_order_release);
  }
  signal_.fetch_add(1);
  if (sleepers_.load() > 0) FutexWakeAll(signal_);

  done_.fetch_add(Drain(0));
  WaitForDone(static_cast<uint32_t>(tasks));
}

void ThreadPool::RunSerially(int64_t tasks, Invoke invoke, void* context) {
  const ScopedFloatMode mode;
  for (int64_t task = 0; task < tasks; ++task) invoke(context, task, 0);
}

uint32_t ThreadPool::Drain(int thread) {
  uint32_t count = 0;
  for (int i = 0; i < threads_; ++i) {
    std::atomic<uint64_t>& packed = ranges_[static_cast<size_t>((thread + i) % threads_)].packed;
    uint64_t seen = packed.load(std::memory_order_acquire);
    while (static_cast<uint32_t>(seen) < static_cast<uint32_t>(seen >> 32)) {
      if (!packed.compare_exchange_weak(seen, seen + 1, std::memory_order_acq_rel,
                                        std::memory_order_acquire)) {
        continue;
      }
      // The job cannot end while this task is unfinished, so its fields are stable.
      const Invoke invoke = invoke_.load(std::memory_order_relaxed);
      invoke(context_.load(std::memory_order_relaxed), static_cast<uint32_t>(seen), thread);
      ++count;
      seen = packed.load(std::memory_order_acquire);
    }
  }
  return count;
}

void ThreadPool::WorkerLoop(int thread) {
  _mm_setcsr(_mm_getcsr() | kFlushDenormals);
  uint32_t seen = 0;
  while (true) {
    WaitForSignal(seen);
    seen = signal_.load();
    if (stop_.load()) return;
    const uint32_t count = Drain(thread);
    if (count == 0) continue;
    done_.fetch_add(count);
    if (caller_sleeps_.load() != 0) FutexWakeAll(done_);
  }
}

void ThreadPool::WaitForSignal(uint32_t seen) {
  if (SpinUntil([&] { return signal_.load(std::memory_order_acquire) != seen; })) return;
  sleepers_.fetch_add(1);
  while (signal_.load() == seen) FutexWait(signal_, seen);
  sleepers_.fetch_sub(1);
}

void ThreadPool::WaitForDone(uint32_t tasks) {
  if (SpinUntil([&] { return done_.load(std::memory_order_acquire) == tasks; })) return;
  caller_sleeps_.store(1);
  for (uint32_t seen = done_.load(); seen != tasks; seen = done_.load()) FutexWait(done_, seen);
  caller_sleeps_.store(0);
}

}  // namespace shoal::kernels::cpu
