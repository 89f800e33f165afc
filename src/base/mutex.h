// SPDX-License-Identifier: Apache-2.0
// The one kind of lock of this code base: abseil's. An abseil that was not built with
// ThreadSanitizer, as the ones of Linux distributions, hides its synchronisation from it, so that
// every guarded access looks like a race; under that sanitizer the same interface therefore stands
// on the standard library's mutex, which the sanitizer understands.
#pragma once

#include "absl/base/config.h"
#include "absl/base/thread_annotations.h"
#include "absl/synchronization/mutex.h"

#ifdef ABSL_HAVE_THREAD_SANITIZER
#include <condition_variable>
#include <cstdint>
#include <mutex>

#include "absl/time/clock.h"
#include "absl/time/time.h"
#endif

namespace shoal {

#ifndef ABSL_HAVE_THREAD_SANITIZER

using Mutex = absl::Mutex;
using MutexLock = absl::MutexLock;

#else

// As much of absl::Mutex as is used, with the same contract: a condition is evaluated under the
// mutex and is seen to be true without anybody signalling.
class ABSL_LOCKABLE Mutex {
 public:
  Mutex() = default;
  Mutex(const Mutex&) = delete;
  Mutex& operator=(const Mutex&) = delete;

  void Lock() ABSL_EXCLUSIVE_LOCK_FUNCTION() { mutex_.lock(); }

  void Unlock() ABSL_UNLOCK_FUNCTION() {
    WakeWaiters();
    mutex_.unlock();
  }

  void Await(const absl::Condition& condition) ABSL_NO_THREAD_SAFETY_ANALYSIS {
    AwaitWithTimeout(condition, absl::InfiniteDuration());
  }

  // Whether the condition holds, which it may also at the time-out.
  bool AwaitWithTimeout(const absl::Condition& condition,
                        absl::Duration timeout) ABSL_NO_THREAD_SAFETY_ANALYSIS {
    if (condition.Eval()) return true;
    // The system's clock, because GCC 12's sanitizer does not know waits on the steady one.
    const absl::Time deadline = absl::Now() + timeout;
    std::unique_lock<std::mutex> lock(mutex_, std::adopt_lock);
    WakeWaiters();  // the caller may have made their conditions true; once, or waiters wake others
    ++waiters_;
    bool holds = false;
    while (!(holds = condition.Eval()) && absl::Now() < deadline) {
      if (deadline == absl::InfiniteFuture()) {
        changed_.wait(lock);
      } else {
        changed_.wait_until(lock, absl::ToChronoTime(deadline));
      }
    }
    --waiters_;
    lock.release();  // stays locked
    return holds;
  }

 private:
  void WakeWaiters() {
    if (waiters_ > 0) changed_.notify_all();
  }

  std::mutex mutex_;
  std::condition_variable changed_;
  int32_t waiters_ = 0;  // guarded by mutex_
};

class ABSL_SCOPED_LOCKABLE MutexLock {
 public:
  explicit MutexLock(Mutex* mutex) ABSL_EXCLUSIVE_LOCK_FUNCTION(mutex) : mutex_(mutex) {
    mutex_->Lock();
  }
  ~MutexLock() ABSL_UNLOCK_FUNCTION() { mutex_->Unlock(); }
  MutexLock(const MutexLock&) = delete;
  MutexLock& operator=(const MutexLock&) = delete;

 private:
  Mutex* const mutex_;
};

#endif

}  // namespace shoal
