// SPDX-License-Identifier: Apache-2.0
// The compute threads of one stream. Made for jobs of a few microseconds: idle threads spin for a
// bounded time, then sleep on a futex. A job is cut statically, one run of tasks per thread; a
// thread that has finished its run takes tasks of the others, and a job ends when its tasks are
// done, not when every thread has looked at it. So a thread that the operating system keeps off
// the processor delays only the task it is in.
#pragma once

#include <atomic>
#include <cstdint>
#include <memory>
#include <thread>
#include <type_traits>
#include <vector>

namespace shoal::kernels::cpu {

// Used by one caller thread at a time. Bodies must not throw and must not call the pool.
class ThreadPool {
 public:
  static constexpr int kMaxThreads = 256;
  static constexpr int64_t kMaxTasks = int64_t{1} << 31;

  // `threads` compute threads, 1 <= threads <= kMaxThreads: the caller's and threads - 1 own ones.
  explicit ThreadPool(int threads);
  ~ThreadPool();
  ThreadPool(const ThreadPool&) = delete;
  ThreadPool& operator=(const ThreadPool&) = delete;

  int threads() const { return threads_; }

  // Calls body(task, thread) once for every task in [0, tasks), 0 <= thread < threads(); no two
  // calls with one thread index overlap. Returns when all are done and their effects are visible.
  // All bodies run in the float mode of float_mode.h. tasks < kMaxTasks.
  template <typename Body>
  void ParallelFor(int64_t tasks, Body&& body) {
    using Plain = std::remove_reference_t<Body>;
    Run(
        tasks,
        [](void* context, int64_t task, int thread) {
          (*static_cast<Plain*>(context))(task, thread);
        },
        const_cast<void*>(static_cast<const void*>(&body)));
  }

 private:
  using Invoke = void (*)(void* context, int64_t task, int thread);

  // Tasks of one thread that nobody has taken: next in the low half, end in the high half.
  struct alignas(64) Range {
    std::atomic<uint64_t> packed{0};
  };

  void Run(int64_t tasks, Invoke invoke, void* context);
  void RunSerially(int64_t tasks, Invoke invoke, void* context);
  void WorkerLoop(int thread);
  // Takes and runs tasks until none is left; the number run.
  uint32_t Drain(int thread);
  void WaitForSignal(uint32_t seen);
  void WaitForDone(uint32_t tasks);

  const int threads_;
  std::unique_ptr<Range[]> ranges_;  // threads_ of them
  std::vector<std::thread> workers_;

  // The current job. Written by the caller while no task exists; a thread reads them only while it
  // holds a task.
  std::atomic<Invoke> invoke_{nullptr};
  std::atomic<void*> context_{nullptr};

  alignas(64) std::atomic<uint32_t> signal_{0};  // counts jobs; workers wait on it
  std::atomic<uint32_t> sleepers_{0};
  std::atomic<bool> stop_{false};
  alignas(64) std::atomic<uint32_t> done_{0};  // tasks finished; the caller waits on it
  std::atomic<uint32_t> caller_sleeps_{0};
};

}  // namespace shoal::kernels::cpu
