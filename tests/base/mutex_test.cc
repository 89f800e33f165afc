// SPDX-License-Identifier: Apache-2.0
#include "base/mutex.h"

#include <cstdint>
#include <thread>
#include <vector>

#include "absl/time/clock.h"
#include "absl/time/time.h"
#include "gtest/gtest.h"

namespace shoal {
namespace {

constexpr absl::Duration kPatience = absl::Seconds(60);

// Two threads that hand a turn to and fro, each waiting for the other without a signal.
class Turns {
 public:
  void Play(int me, int rounds) {
    for (int i = 0; i < rounds; ++i) {
      MutexLock lock(&mutex_);
      const auto mine = [&]() ABSL_NO_THREAD_SAFETY_ANALYSIS { return turn_ == me; };
      mutex_.Await(absl::Condition(&mine));
      turn_ = 1 - me;
      ++played_;
    }
  }
  int played() {
    MutexLock lock(&mutex_);
    return played_;
  }

 private:
  Mutex mutex_;
  int turn_ ABSL_GUARDED_BY(mutex_) = 0;
  int played_ ABSL_GUARDED_BY(mutex_) = 0;
};

TEST(Mutex, ExcludesOtherThreads) {
  Mutex mutex;
  int64_t count = 0;
  std::vector<std::thread> threads;
  for (int i = 0; i < 4; ++i) {
    threads.emplace_back([&] {
      for (int j = 0; j < 10000; ++j) {
        MutexLock lock(&mutex);
        ++count;
      }
    });
  }
  for (std::thread& thread : threads) thread.join();
  EXPECT_EQ(count, 40000);
}

TEST(Mutex, WakesAWaiterWhoseConditionAnotherThreadMakesTrue) {
  Turns turns;
  std::thread other([&] { turns.Play(1, 1000); });
  turns.Play(0, 1000);
  other.join();
  EXPECT_EQ(turns.played(), 2000);
}

TEST(Mutex, WakesAWaiterWhoseConditionTheNextWaiterMadeTrue) {
  Mutex mutex;
  bool first = false;
  bool second = false;
  std::thread other([&] {
    MutexLock lock(&mutex);
    mutex.Await(absl::Condition(&first));
    second = true;
  });
  {
    MutexLock lock(&mutex);
    first = true;  // only waiting releases the mutex from here on
    EXPECT_TRUE(mutex.AwaitWithTimeout(absl::Condition(&second), kPatience));
  }
  other.join();
}

TEST(Mutex, StopsWaitingAtTheTimeout) {
  Mutex mutex;
  bool never = false;
  MutexLock lock(&mutex);
  const absl::Time start = absl::Now();
  EXPECT_FALSE(mutex.AwaitWithTimeout(absl::Condition(&never), absl::Milliseconds(20)));
  EXPECT_GE(absl::Now() - start, absl::Milliseconds(15));
  EXPECT_FALSE(mutex.AwaitWithTimeout(absl::Condition(&never), absl::ZeroDuration()));
  EXPECT_FALSE(mutex.AwaitWithTimeout(absl::Condition(&never), -absl::InfiniteDuration()));
}

TEST(Mutex, DoesNotWaitForWhatHoldsAlready) {
  Mutex mutex;
  bool always = true;
  MutexLock lock(&mutex);
  EXPECT_TRUE(mutex.AwaitWithTimeout(absl::Condition(&always), absl::ZeroDuration()));
  mutex.Await(absl::Condition(&always));
}

}  // namespace
}  // namespace shoal
