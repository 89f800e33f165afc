// SPDX-License-Identifier: Apache-2.0
#include "base/thread_pool.h"

#include <atomic>
#include <latch>
#include <memory>

#include "gmock/gmock.h"
#include "gtest/gtest.h"

namespace shoal {
namespace {

using ::testing::ElementsAre;

// One thread that is busy until Release, so that what is submitted waits.
class BusyPool {
 public:
  explicit BusyPool(ThreadPoolOptions options, int64_t bytes = 0) : pool_(options) {
    EXPECT_TRUE(pool_.TrySubmit(bytes, [this] {
      started_.count_down();
      release_.wait();
    }));
    started_.wait();
  }
  ~BusyPool() {
    if (!release_.try_wait()) release_.count_down();
    pool_.Stop();
  }
  void Release() { release_.count_down(); }
  ThreadPool& pool() { return pool_; }

 private:
  std::latch started_{1};
  std::latch release_{1};
  ThreadPool pool_;
};

TEST(ThreadPool, RunsTasksInTheOrderOfAcceptance) {
  std::vector<int> order;
  ThreadPool pool({.threads = 1});
  for (int i = 0; i < 5; ++i) ASSERT_TRUE(pool.TrySubmit(1, [&order, i] { order.push_back(i); }));
  pool.Stop();
  EXPECT_THAT(order, ElementsAre(0, 1, 2, 3, 4));
  EXPECT_EQ(pool.bytes(), 0);
}

TEST(ThreadPool, RefusesTasksBeyondTheQueue) {
  BusyPool busy({.threads = 1, .queue_max = 2});
  std::atomic<int> ran = 0;
  EXPECT_TRUE(busy.pool().TrySubmit(0, [&] { ++ran; }));
  EXPECT_TRUE(busy.pool().TrySubmit(0, [&] { ++ran; }));
  EXPECT_FALSE(busy.pool().TrySubmit(0, [&] { ++ran; }));
  EXPECT_EQ(busy.pool().queued(), 2U);
  busy.Release();
  busy.pool().Stop();
  EXPECT_EQ(ran, 2);
}

TEST(ThreadPool, CountsTheBytesOfWaitingAndRunningTasks) {
  BusyPool busy({.threads = 1, .bytes_max = 100}, 40);
  EXPECT_FALSE(busy.pool().TrySubmit(61, [] {}));
  EXPECT_TRUE(busy.pool().TrySubmit(60, [] {}));
  EXPECT_FALSE(busy.pool().TrySubmit(1, [] {}));
  EXPECT_TRUE(busy.pool().TrySubmit(0, [] {}));
  EXPECT_EQ(busy.pool().bytes(), 100);
  busy.Release();
  busy.pool().Stop();
  EXPECT_EQ(busy.pool().bytes(), 0);
}

TEST(ThreadPool, NeverAcceptsATaskAboveTheWholeBudget) {
  ThreadPool pool({.threads = 1, .bytes_max = 100});
  EXPECT_FALSE(pool.TrySubmit(101, [] {}));
  EXPECT_FALSE(pool.TrySubmit(INT64_MAX, [] {}));
}

TEST(ThreadPool, StopRunsWhatWasAcceptedAndNothingElse) {
  std::atomic<int> ran = 0;
  auto pool = std::make_unique<ThreadPool>(ThreadPoolOptions{.threads = 3});
  for (int i = 0; i < 100; ++i) ASSERT_TRUE(pool->TrySubmit(1, [&] { ++ran; }));
  pool->Stop();
  EXPECT_EQ(ran, 100);
  EXPECT_FALSE(pool->TrySubmit(1, [&] { ++ran; }));
  pool->Stop();
  pool.reset();
  EXPECT_EQ(ran, 100);
}

TEST(ThreadPool, TasksMaySubmitTasks) {
  std::latch done(1);
  ThreadPool pool({.threads = 1});
  ASSERT_TRUE(
      pool.TrySubmit(1, [&] { EXPECT_TRUE(pool.TrySubmit(1, [&done] { done.count_down(); })); }));
  done.wait();
  pool.Stop();
}

TEST(ThreadPool, ReleasesWhatATaskHoldsOnceItRan) {
  auto held = std::make_shared<int>(1);
  const std::weak_ptr<int> watch = held;
  ThreadPool pool({.threads = 1});
  ASSERT_TRUE(pool.TrySubmit(1, [held = std::move(held)] { EXPECT_EQ(*held, 1); }));
  pool.Stop();
  EXPECT_TRUE(watch.expired());
}

}  // namespace
}  // namespace shoal
