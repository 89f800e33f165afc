// SPDX-License-Identifier: Apache-2.0
#include "kernels/cpu/thread_pool.h"

#include <gtest/gtest.h>
#include <xmmintrin.h>

#include <atomic>
#include <memory>
#include <numeric>
#include <thread>
#include <vector>

#include "kernels/cpu/float_mode.h"

namespace shoal::kernels::cpu {
namespace {

TEST(ThreadPool, RunsEveryTaskOnce) {
  for (const int threads : {1, 2, 3, 8}) {
    ThreadPool pool(threads);
    for (const int64_t tasks : {0, 1, 2, 7, 64, 1000}) {
      std::vector<std::atomic<int>> runs(static_cast<size_t>(tasks));
      pool.ParallelFor(tasks, [&](int64_t task, int thread) {
        EXPECT_GE(thread, 0);
        EXPECT_LT(thread, threads);
        runs[static_cast<size_t>(task)].fetch_add(1);
      });
      for (const std::atomic<int>& count : runs) ASSERT_EQ(count.load(), 1);
    }
  }
}

TEST(ThreadPool, ShowsTheEffectsOfAJobToTheNext) {
  ThreadPool pool(4);
  std::vector<int64_t> values(37, 0);
  std::vector<int64_t> next(37, 0);
  for (int64_t job = 1; job <= 5000; ++job) {
    // Every task reads what another task of the last job wrote.
    pool.ParallelFor(37, [&](int64_t task, int) {
      const auto i = static_cast<size_t>(task);
      next[i] = values[(i + 11) % 37] + 1;
    });
    values.swap(next);
    for (const int64_t value : values) ASSERT_EQ(value, job);
  }
}

TEST(ThreadPool, NeverRunsTwoTasksWithOneThreadIndexAtOnce) {
  ThreadPool pool(3);
  std::atomic<bool> busy[3] = {};
  for (int job = 0; job < 300; ++job) {
    pool.ParallelFor(16, [&](int64_t, int thread) {
      ASSERT_FALSE(busy[thread].exchange(true));
      busy[thread].store(false);
    });
  }
}

TEST(ThreadPool, UsesItsOtherThreads) {
  ThreadPool pool(2);
  // Both tasks wait for each other, so two threads must run them.
  std::atomic<int> arrived{0};
  pool.ParallelFor(2, [&](int64_t, int) {
    arrived.fetch_add(1);
    while (arrived.load() < 2) std::this_thread::yield();
  });
  EXPECT_EQ(arrived.load(), 2);
}

TEST(ThreadPool, TakesTasksOfAThreadThatIsHeldUp) {
  ThreadPool pool(2);
  // The first task that starts holds its thread until all the others have run, also those of its
  // own share.
  std::atomic<int> finished{0};
  std::atomic<bool> held{false};
  pool.ParallelFor(10, [&](int64_t, int) {
    if (!held.exchange(true)) {
      while (finished.load() < 9) std::this_thread::yield();
    }
    finished.fetch_add(1);
  });
  EXPECT_EQ(finished.load(), 10);
}

TEST(ThreadPool, SurvivesManyMoreThreadsThanProcessors) {
  std::vector<std::unique_ptr<ThreadPool>> pools;
  for (int i = 0; i < 4; ++i) pools.push_back(std::make_unique<ThreadPool>(16));
  std::vector<std::thread> callers;
  std::atomic<int64_t> sum{0};
  for (auto& pool : pools) {
    callers.emplace_back([&sum, &pool] {
      for (int job = 0; job < 200; ++job) {
        pool->ParallelFor(32, [&](int64_t task, int) { sum.fetch_add(task); });
      }
    });
  }
  for (std::thread& caller : callers) caller.join();
  EXPECT_EQ(sum.load(), 4 * 200 * (31 * 32 / 2));
}

TEST(ThreadPool, EndsWhileItsThreadsSpinOrSleep) {
  for (int i = 0; i < 50; ++i) {
    ThreadPool pool(3);
    if (i % 2 == 0) pool.ParallelFor(3, [](int64_t, int) {});
  }
  SUCCEED();
}

TEST(ThreadPool, FlushesDenormalsInEveryTaskAndRestoresTheCaller) {
  const unsigned before = _mm_getcsr();
  for (const int threads : {1, 3}) {
    ThreadPool pool(threads);
    std::atomic<int> flushed{0};
    pool.ParallelFor(12, [&](int64_t, int) {
      if ((_mm_getcsr() & kFlushDenormals) == kFlushDenormals) flushed.fetch_add(1);
    });
    EXPECT_EQ(flushed.load(), 12);
    EXPECT_EQ(_mm_getcsr() & 0xFFC0u, before & 0xFFC0u);
  }
}

}  // namespace
}  // namespace shoal::kernels::cpu
