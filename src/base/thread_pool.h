// SPDX-License-Identifier: Apache-2.0
// ThreadPool: a few threads for work of unknown size, such as tokenizing a prompt. What waits is
// bounded by count and by bytes, so that a burst is refused instead of piling up.
#pragma once

#include <cstddef>
#include <cstdint>
#include <deque>
#include <functional>
#include <thread>
#include <vector>

#include "absl/base/thread_annotations.h"
#include "base/mutex.h"

namespace shoal {

struct ThreadPoolOptions {
  int32_t threads = 1;
  size_t queue_max = 1024;                // tasks that wait for a thread
  int64_t bytes_max = int64_t{64} << 20;  // of tasks that wait or run
};

// TrySubmit may be called from any thread, also from a task. Every accepted task runs exactly
// once, in the order of acceptance. Tasks do not throw.
class ThreadPool {
 public:
  explicit ThreadPool(const ThreadPoolOptions& options);
  // Stops.
  ~ThreadPool();
  ThreadPool(const ThreadPool&) = delete;
  ThreadPool& operator=(const ThreadPool&) = delete;

  // False, and the task is dropped, when a bound would be passed or after Stop. `bytes` is what the
  // task holds in memory while it waits and runs; a task above bytes_max is never accepted.
  [[nodiscard]] bool TrySubmit(int64_t bytes, std::function<void()> task);

  // Accepts nothing more, runs what was accepted and joins the threads. Not from a task.
  void Stop();

  // Tasks that wait for a thread.
  size_t queued() const;
  // Bytes of tasks that wait or run.
  int64_t bytes() const;

 private:
  struct Task {
    int64_t bytes;
    std::function<void()> run;
  };

  void Work();
  bool Ready() const ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_) { return stopping_ || !queue_.empty(); }

  const ThreadPoolOptions options_;
  mutable Mutex mutex_;
  std::deque<Task> queue_ ABSL_GUARDED_BY(mutex_);
  int64_t bytes_ ABSL_GUARDED_BY(mutex_) = 0;
  bool stopping_ ABSL_GUARDED_BY(mutex_) = false;
  Mutex join_mutex_;
  std::vector<std::thread> threads_ ABSL_GUARDED_BY(join_mutex_);
};

}  // namespace shoal
