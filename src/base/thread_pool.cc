// SPDX-License-Identifier: Apache-2.0
#include "base/thread_pool.h"

#include <utility>

#include "base/check.h"
#include "base/mutex.h"

namespace shoal {

ThreadPool::ThreadPool(const ThreadPoolOptions& options) : options_(options) {
  SHOAL_CHECK(options.threads > 0);
  MutexLock lock(&join_mutex_);
  for (int32_t i = 0; i < options.threads; ++i) threads_.emplace_back([this] { Work(); });
}

ThreadPool::~ThreadPool() { Stop(); }

bool ThreadPool::TrySubmit(int64_t bytes, std::function<void()> task) {
  SHOAL_CHECK(bytes >= 0);
  MutexLock lock(&mutex_);
  if (stopping_ || queue_.size() >= options_.queue_max) return false;
  if (bytes > options_.bytes_max - bytes_) return false;
  bytes_ += bytes;
  queue_.push_back({.bytes = bytes, .run = std::move(task)});
  return true;
}

void ThreadPool::Stop() {
  {
    MutexLock lock(&mutex_);
    stopping_ = true;
  }
  MutexLock lock(&join_mutex_);
  for (std::thread& thread : threads_) thread.join();
  threads_.clear();
}

size_t ThreadPool::queued() const {
  MutexLock lock(&mutex_);
  return queue_.size();
}

int64_t ThreadPool::bytes() const {
  MutexLock lock(&mutex_);
  return bytes_;
}

void ThreadPool::Work() {
  while (true) {
    Task task;
    {
      MutexLock lock(&mutex_);
      mutex_.Await(absl::Condition(this, &ThreadPool::Ready));
      if (queue_.empty()) return;
      task = std::move(queue_.front());
      queue_.pop_front();
    }
    task.run();
    task.run = nullptr;  // what it holds is gone before its bytes are given back
    MutexLock lock(&mutex_);
    bytes_ -= task.bytes;
  }
}

}  // namespace shoal
