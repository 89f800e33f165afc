// SPDX-License-Identifier: Apache-2.0
#include <gtest/gtest.h>

#include <algorithm>
#include <set>

#include "app/bench/report.h"
#include "app/bench/workload.h"
#include "nlohmann/json.hpp"

namespace shoal::app {
namespace {

std::vector<PlannedRequest> Plan(const WorkloadOptions& options,
                                 const std::vector<TraceRow>& trace = {}) {
  auto requests = PlanWorkload(options, trace);
  EXPECT_TRUE(requests.ok()) << requests.status();
  return *requests;
}

TEST(Workload, IsTheSameForTheSameSeedAndAnotherForAnother) {
  WorkloadOptions options{.requests = 20, .prompt = {5, 60}, .output = {1, 9}};
  const auto a = Plan(options);
  const auto b = Plan(options);
  options.seed = 2;
  const auto c = Plan(options);
  int different = 0;
  for (size_t i = 0; i < a.size(); ++i) {
    EXPECT_EQ(a[i].prompt, b[i].prompt);
    EXPECT_EQ(a[i].output, b[i].output);
    different += a[i].prompt != c[i].prompt;
  }
  EXPECT_GT(different, 15);
}

TEST(Workload, DrawsLengthsAndTokensFromTheirRanges) {
  const auto requests = Plan(
      {.requests = 300, .prompt = {3, 6}, .output = {1, 2}, .first_token = 7, .end_token = 10});
  std::set<size_t> lengths;
  std::set<int32_t> tokens;
  for (const PlannedRequest& request : requests) {
    lengths.insert(request.prompt.size());
    tokens.insert(request.prompt.begin(), request.prompt.end());
    EXPECT_TRUE(request.output == 1 || request.output == 2);
  }
  EXPECT_EQ(lengths, (std::set<size_t>{3, 4, 5, 6}));
  EXPECT_EQ(tokens, (std::set<int32_t>{7, 8, 9}));
}

TEST(Workload, SharesPrefixesWithinAGroupOnly) {
  const auto requests =
      Plan({.requests = 6, .prompt = {40, 40}, .shared_prefix = 30, .prefix_groups = 2});
  const auto shared = [&](size_t a, size_t b) {
    const auto& x = requests[a].prompt;
    return std::mismatch(x.begin(), x.end(), requests[b].prompt.begin()).first - x.begin();
  };
  EXPECT_GE(shared(0, 2), 30);
  EXPECT_LT(shared(0, 2), 40);
  EXPECT_GE(shared(1, 3), 30);
  EXPECT_LT(shared(0, 1), 30);
}

TEST(Workload, PoissonArrivalsAscendAndHaveTheRate) {
  const auto requests = Plan({.arrivals = Arrivals::kPoisson,
                              .rate = 50,
                              .requests = 4000,
                              .prompt = {1, 1},
                              .output = {1, 1}});
  double squares = 0;
  for (size_t i = 1; i < requests.size(); ++i) {
    const double gap = requests[i].start - requests[i - 1].start;
    ASSERT_GE(gap, 0);
    squares += gap * gap;
  }
  const double mean = requests.back().start / 3999;
  EXPECT_NEAR(mean, 0.02, 0.001);
  EXPECT_NEAR(squares / 3999, 2 * 0.02 * 0.02, 1e-4);  // an exponential's, not a constant's
}

TEST(Workload, TracesGiveArrivalsAndLengths) {
  const auto trace = ParseTrace("arrival,prompt,output\n0.5,3,4\r\n0.5,10,1\n\n2,1,1\n");
  ASSERT_TRUE(trace.ok()) << trace.status();
  const auto requests = Plan({.arrivals = Arrivals::kTrace, .warmup = 1}, *trace);
  ASSERT_EQ(requests.size(), 3u);
  EXPECT_EQ(requests[0].prompt.size(), 3u);
  EXPECT_EQ(requests[0].output, 4);
  EXPECT_FALSE(requests[0].counted);
  EXPECT_EQ(requests[2].start, 2);
  for (const char* bad : {"", "x,y,z\n", "1,2\n", "1,0,1\n", "1,1,-1\n", "2,1,1\n1,1,1\n",
                          "nan,1,1\n", "0,1,1\nx,1,1\n"}) {
    EXPECT_FALSE(ParseTrace(bad).ok()) << bad;
  }
}

TEST(Workload, RefusesWhatCannotBe) {
  for (const WorkloadOptions& options :
       {WorkloadOptions{.requests = 0}, WorkloadOptions{.requests = 2, .warmup = 2},
        WorkloadOptions{.prompt = {0, 5}}, WorkloadOptions{.output = {5, 4}},
        WorkloadOptions{.first_token = 5, .end_token = 5}, WorkloadOptions{.prefix_groups = 0},
        WorkloadOptions{.arrivals = Arrivals::kPoisson, .rate = 0}}) {
    EXPECT_FALSE(PlanWorkload(options, {}).ok());
  }
}

RequestRecord Record(double due, std::vector<double> times, int64_t tokens) {
  RequestRecord record;
  record.due = record.sent = due;
  record.text_times = std::move(times);
  record.end = record.text_times.back();
  record.prompt_tokens = 10;
  record.completion_tokens = tokens;
  return record;
}

TEST(Report, ComputesTheTimesOfTheField) {
  const Report report = MakeReport({Record(1, {1.5, 1.6, 1.9}, 5), Record(2, {2.1, 2.3}, 3)},
                                   {.ttft_ms = 200, .tpot_ms = {}, .e2e_ms = {}});
  EXPECT_EQ(report.requests, 2);
  EXPECT_DOUBLE_EQ(report.duration, 2.3 - 1);
  EXPECT_NEAR(report.ttft.mean, 300, 1e-9);
  EXPECT_NEAR(report.ttft.max, 500, 1e-9);
  EXPECT_NEAR(report.tpot.p50, 100, 1e-9);  // 0.4 / 4 and 0.2 / 2
  EXPECT_EQ(report.itl.count, 3);
  EXPECT_NEAR(report.itl.max, 300, 1e-9);
  EXPECT_EQ(report.completion_tokens, 8);
  EXPECT_NEAR(report.output_tokens_per_second, 8 / 1.3, 1e-9);
  EXPECT_EQ(report.met_slo, 1);
  EXPECT_NEAR(report.goodput, 1 / 1.3, 1e-9);
}

TEST(Report, CountsFromWhenARequestWasDueAndLeavesWarmUpOut) {
  RequestRecord late = Record(1, {4}, 1);
  late.sent = 3;
  RequestRecord warmup = Record(0, {0.1}, 100);
  warmup.counted = false;
  const Report report = MakeReport({warmup, late}, {});
  EXPECT_EQ(report.requests, 1);
  EXPECT_EQ(report.completion_tokens, 1);
  EXPECT_NEAR(report.ttft.mean, 3000, 1e-9);
}

TEST(Report, FailedRequestsGiveNoTimes) {
  RequestRecord bad = Record(0, {1}, 7);
  bad.error = "broke off";
  const Report report = MakeReport({bad, Record(0, {0.5}, 1)}, {});
  EXPECT_EQ(report.failed, 1);
  EXPECT_EQ(report.ttft.count, 1);
  EXPECT_EQ(report.completion_tokens, 1);
  EXPECT_EQ(report.errors, (std::vector<std::string>{"broke off"}));
  EXPECT_EQ(ToJson(report)["failed"], 1);
  EXPECT_NE(ToText(report).find("broke off"), std::string::npos);
}

TEST(Report, QuantilesAreNearestRanks) {
  std::vector<double> values;
  for (int i = 100; i >= 1; --i) values.push_back(i * 1e-3);
  const Distribution d = Summarise(values);
  EXPECT_NEAR(d.p50, 50, 1e-9);
  EXPECT_NEAR(d.p90, 90, 1e-9);
  EXPECT_NEAR(d.p99, 99, 1e-9);
  EXPECT_NEAR(d.max, 100, 1e-9);
  EXPECT_EQ(Summarise({}).count, 0);
}

}  // namespace
}  // namespace shoal::app
