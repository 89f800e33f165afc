// SPDX-License-Identifier: Apache-2.0
#include "base/metrics.h"

#include <algorithm>
#include <thread>
#include <vector>

#include "absl/strings/str_cat.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"

namespace shoal::metrics {
namespace {

using ::testing::HasSubstr;
using ::testing::Not;

TEST(Metrics, ExposesCountersGaugesAndHistograms) {
  Registry registry;
  registry.GetCounter("vllm:prompt_tokens_total", "Prompt tokens.", {{"model_name", "a\"b"}})
      .Increment(5);
  registry.GetGauge("vllm:num_requests_running", "Running.").Set(2);
  const std::vector<double> edges = {0.5, 1};
  Histogram histogram = registry.GetHistogram("latency_seconds", "Latency.", edges);
  histogram.Observe(0.25);
  histogram.Observe(1);
  histogram.Observe(3);
  const std::string text = registry.Text();
  EXPECT_THAT(text, HasSubstr("# TYPE vllm:prompt_tokens_total counter"));
  EXPECT_THAT(text, HasSubstr("vllm:prompt_tokens_total{model_name=\"a\\\"b\"} 5\n"));
  EXPECT_THAT(text, HasSubstr("vllm:num_requests_running 2\n"));
  EXPECT_THAT(text, HasSubstr("latency_seconds_count 3\n"));
  EXPECT_THAT(text, HasSubstr("latency_seconds_sum 4.25\n"));
  EXPECT_THAT(text, HasSubstr("latency_seconds_bucket{le=\"0.5\"} 1\n"));
  EXPECT_THAT(text, HasSubstr("latency_seconds_bucket{le=\"1\"} 2\n"));
  EXPECT_THAT(text, HasSubstr("latency_seconds_bucket{le=\"+Inf\"} 3\n"));
  EXPECT_LT(text.find("latency_seconds"), text.find("vllm:num_requests_running"));
}

TEST(Metrics, GivesTheSameSeriesForTheSameLabels) {
  Registry registry;
  registry.GetCounter("c_total", "C.", {{"k", "1"}}).Increment();
  registry.GetCounter("c_total", "C.", {{"k", "1"}}).Increment();
  registry.GetCounter("c_total", "C.", {{"k", "2"}}).Increment();
  EXPECT_EQ(registry.GetCounter("c_total", "C.", {{"k", "1"}}).value(), 2);
  EXPECT_EQ(registry.GetCounter("c_total", "C.", {{"k", "2"}}).value(), 1);
}

TEST(Metrics, GaugesGoDown) {
  Registry registry;
  Gauge gauge = registry.GetGauge("g", "G.");
  gauge.Set(3);
  gauge.Add(-5);
  EXPECT_EQ(gauge.value(), -2);
}

TEST(Metrics, CountsFromManyThreads) {
  Registry registry;
  std::vector<std::thread> threads;
  for (int t = 0; t < 4; ++t) {
    threads.emplace_back([&registry] {
      for (int i = 0; i < 1000; ++i) registry.GetCounter("c_total", "C.").Increment();
    });
  }
  for (std::thread& thread : threads) thread.join();
  EXPECT_EQ(registry.GetCounter("c_total", "C.").value(), 4000);
}

TEST(Metrics, BoundsTheSeriesItExposes) {
  Registry registry;
  for (int i = 0; i < Registry::kSeriesMax + 5; ++i) {
    registry.GetGauge("g", "G.", {{"k", absl::StrCat("v", i)}}).Set(1);
  }
  const std::string text = registry.Text();
  EXPECT_THAT(text, HasSubstr(absl::StrCat("\"v", Registry::kSeriesMax - 1, "\"")));
  EXPECT_THAT(text, Not(HasSubstr(absl::StrCat("\"v", Registry::kSeriesMax, "\""))));
}

TEST(Metrics, EdgesIncrease) {
  for (const auto edges :
       {FirstTokenEdges(), InterTokenEdges(), RequestLatencyEdges(), TokenCountEdges()}) {
    EXPECT_TRUE(std::is_sorted(edges.begin(), edges.end(), std::less_equal<>()));
  }
  EXPECT_EQ(FirstTokenEdges().size(), 22U);
  EXPECT_EQ(FirstTokenEdges().back(), 2560);
}

TEST(MetricsDeathTest, ANameOfAnotherKindIsOurOwnBug) {
  GTEST_FLAG_SET(death_test_style, "threadsafe");
  EXPECT_DEATH(
      {
        Registry registry;
        registry.GetCounter("x", "X.");
        registry.GetGauge("x", "X.");
      },
      "metric x");
}

}  // namespace
}  // namespace shoal::metrics
