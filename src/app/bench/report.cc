// SPDX-License-Identifier: Apache-2.0
#include "app/bench/report.h"

#include <algorithm>
#include <cmath>
#include <numeric>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "nlohmann/json.hpp"

namespace shoal::app {
namespace {

using json = nlohmann::ordered_json;

constexpr size_t kErrorsShown = 5;
constexpr double kMilliseconds = 1e3;

// The times of one complete request.
struct Times {
  double ttft = 0;
  std::optional<double> tpot;  // with two tokens or more
  double e2e = 0;
};

Times TimesOf(const RequestRecord& record) {
  Times times;
  times.ttft = (record.text_times.empty() ? record.end : record.text_times.front()) - record.due;
  times.e2e = record.end - record.due;
  if (record.completion_tokens > 1 && record.text_times.size() > 1) {
    times.tpot = (record.text_times.back() - record.text_times.front()) /
                 static_cast<double>(record.completion_tokens - 1);
  }
  return times;
}

bool Meets(const Times& times, const Slo& slo) {
  const auto within = [](double seconds, const std::optional<double>& limit_ms) {
    return !limit_ms.has_value() || seconds * kMilliseconds <= *limit_ms;
  };
  return within(times.ttft, slo.ttft_ms) && within(times.tpot.value_or(0), slo.tpot_ms) &&
         within(times.e2e, slo.e2e_ms);
}

json ToJson(const Distribution& d) {
  return {{"count", d.count}, {"mean_ms", d.mean}, {"p50_ms", d.p50},
          {"p90_ms", d.p90},  {"p99_ms", d.p99},   {"max_ms", d.max}};
}

std::string Row(const char* name, const Distribution& d) {
  return absl::StrFormat("%-6s %10.2f %10.2f %10.2f %10.2f %10.2f\n", name, d.mean, d.p50, d.p90,
                         d.p99, d.max);
}

}  // namespace

Distribution Summarise(std::vector<double> seconds) {
  Distribution d;
  d.count = static_cast<int64_t>(seconds.size());
  if (seconds.empty()) return d;
  std::sort(seconds.begin(), seconds.end());
  const auto count = static_cast<double>(seconds.size());
  const auto quantile = [&](double q) {
    const auto rank = static_cast<size_t>(std::max(1.0, std::ceil(q * count)));
    return kMilliseconds * seconds[rank - 1];
  };
  d.mean = kMilliseconds * std::accumulate(seconds.begin(), seconds.end(), 0.0) / count;
  d.p50 = quantile(0.5);
  d.p90 = quantile(0.9);
  d.p99 = quantile(0.99);
  d.max = kMilliseconds * seconds.back();
  return d;
}

Report MakeReport(const std::vector<RequestRecord>& records, const Slo& slo) {
  Report report;
  std::vector<double> ttft, itl, tpot, e2e;
  double first = 0;
  double last = 0;
  for (const RequestRecord& record : records) {
    if (!record.counted) continue;
    first = report.requests == 0 ? record.due : std::min(first, record.due);
    last = report.requests == 0 ? record.end : std::max(last, record.end);
    ++report.requests;
    if (!record.error.empty()) {
      ++report.failed;
      if (report.errors.size() < kErrorsShown) report.errors.push_back(record.error);
      continue;
    }
    const Times times = TimesOf(record);
    ttft.push_back(times.ttft);
    e2e.push_back(times.e2e);
    if (times.tpot.has_value()) tpot.push_back(*times.tpot);
    for (size_t i = 1; i < record.text_times.size(); ++i) {
      itl.push_back(record.text_times[i] - record.text_times[i - 1]);
    }
    report.prompt_tokens += record.prompt_tokens;
    report.cached_tokens += record.cached_tokens;
    report.completion_tokens += record.completion_tokens;
    if (Meets(times, slo)) ++report.met_slo;
  }
  report.ttft = Summarise(std::move(ttft));
  report.itl = Summarise(std::move(itl));
  report.tpot = Summarise(std::move(tpot));
  report.e2e = Summarise(std::move(e2e));
  report.duration = last - first;
  if (report.duration <= 0) return report;
  const auto per_second = [&](int64_t n) { return static_cast<double>(n) / report.duration; };
  report.requests_per_second = per_second(report.requests - report.failed);
  report.output_tokens_per_second = per_second(report.completion_tokens);
  report.total_tokens_per_second = per_second(report.prompt_tokens + report.completion_tokens);
  report.goodput = per_second(report.met_slo);
  return report;
}

json ToJson(const Report& report) {
  return {{"requests", report.requests},
          {"failed", report.failed},
          {"errors", report.errors},
          {"duration_s", report.duration},
          {"prompt_tokens", report.prompt_tokens},
          {"cached_tokens", report.cached_tokens},
          {"completion_tokens", report.completion_tokens},
          {"requests_per_s", report.requests_per_second},
          {"output_tokens_per_s", report.output_tokens_per_second},
          {"total_tokens_per_s", report.total_tokens_per_second},
          {"met_slo", report.met_slo},
          {"goodput_requests_per_s", report.goodput},
          {"ttft", ToJson(report.ttft)},
          {"itl", ToJson(report.itl)},
          {"tpot", ToJson(report.tpot)},
          {"e2e", ToJson(report.e2e)}};
}

std::string ToText(const Report& report) {
  std::string text = absl::StrFormat(
      "%d requests (%d failed) in %.2f s: %.2f requests/s, %.1f output tokens/s, %.1f tokens/s "
      "in all\n%d prompt tokens (%d cached), %d completion tokens; goodput %.2f requests/s (%d "
      "met the SLO)\n\n",
      report.requests, report.failed, report.duration, report.requests_per_second,
      report.output_tokens_per_second, report.total_tokens_per_second, report.prompt_tokens,
      report.cached_tokens, report.completion_tokens, report.goodput, report.met_slo);
  absl::StrAppend(&text, absl::StrFormat("%-6s %10s %10s %10s %10s %10s\n", "ms", "mean", "p50",
                                         "p90", "p99", "max"));
  absl::StrAppend(&text, Row("TTFT", report.ttft), Row("ITL", report.itl), Row("TPOT", report.tpot),
                  Row("E2E", report.e2e));
  for (const std::string& error : report.errors) absl::StrAppend(&text, "error: ", error, "\n");
  return text;
}

}  // namespace shoal::app
