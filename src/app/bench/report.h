// SPDX-License-Identifier: Apache-2.0
// Report: what a benchmark measured, in the field's terms. Pure.
//   TTFT         from the time a request was due until its first text arrives; in an open loop a
//                request that the client sends late counts from when it was due
//   ITL          between two pieces of text of one stream
//   TPOT         (last text - first text) / (tokens - 1) of one stream
//   E2E          from due to the end of the stream
//   goodput      requests per second that met every SLO
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "nlohmann/json_fwd.hpp"

namespace shoal::app {

// One request; times in seconds since the beginning.
struct RequestRecord {
  bool counted = true;
  double due = 0;
  double sent = 0;
  double end = 0;
  std::vector<double> text_times;  // arrival of each piece of text
  int64_t prompt_tokens = 0;
  int64_t completion_tokens = 0;
  int64_t cached_tokens = 0;
  std::string error;  // empty: a complete answer
};

struct Slo {
  std::optional<double> ttft_ms;
  std::optional<double> tpot_ms;
  std::optional<double> e2e_ms;
};

struct Distribution {
  int64_t count = 0;
  double mean = 0, p50 = 0, p90 = 0, p99 = 0, max = 0;  // milliseconds
};

// Of `seconds`; quantiles are nearest ranks.
Distribution Summarise(std::vector<double> seconds);

struct Report {
  int64_t requests = 0;  // counted ones
  int64_t failed = 0;
  std::vector<std::string> errors;  // a few of them
  double duration = 0;              // from the first due to the last end, counted requests
  int64_t prompt_tokens = 0;
  int64_t cached_tokens = 0;
  int64_t completion_tokens = 0;
  double requests_per_second = 0;
  double output_tokens_per_second = 0;
  double total_tokens_per_second = 0;
  double goodput = 0;  // requests per second
  int64_t met_slo = 0;
  Distribution ttft, itl, tpot, e2e;
};

Report MakeReport(const std::vector<RequestRecord>& records, const Slo& slo);

nlohmann::ordered_json ToJson(const Report& report);
// A table for people.
std::string ToText(const Report& report);

}  // namespace shoal::app
