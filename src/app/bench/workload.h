// SPDX-License-Identifier: Apache-2.0
// Workload: which requests a benchmark sends and when. A pure function of its options, so that two
// servers can be given exactly the same load.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"

namespace shoal::app {

enum class Arrivals : uint8_t { kClosed, kPoisson, kUniform, kTrace };

// Lengths in tokens, each drawn uniformly from [min, max].
struct LengthRange {
  int64_t min = 0;
  int64_t max = 0;
};

struct WorkloadOptions {
  Arrivals arrivals = Arrivals::kClosed;
  double rate = 0;  // requests per second; Poisson and uniform
  int64_t requests = 100;
  int64_t warmup = 0;  // the first of the requests, which are sent and not counted
  LengthRange prompt = {512, 512};
  LengthRange output = {128, 128};
  // The first tokens of a prompt are those of its group; 0: nothing is shared.
  int64_t shared_prefix = 0;
  int64_t prefix_groups = 1;
  // Token ids are drawn from [first_token, end_token).
  int32_t first_token = 100;
  int32_t end_token = 300;
  uint64_t seed = 1;
};

struct PlannedRequest {
  double start = 0;  // seconds after the beginning; 0 for the closed loop
  std::vector<int32_t> prompt;
  int64_t output = 0;
  uint64_t seed = 0;
  bool counted = true;
};

// One line of a trace: `arrival_seconds,prompt_tokens,output_tokens`, arrivals ascending. A first
// line of names is skipped. INVALID_ARGUMENT names the line.
struct TraceRow {
  double start = 0;
  int64_t prompt = 0;
  int64_t output = 0;
};
absl::StatusOr<std::vector<TraceRow>> ParseTrace(absl::string_view text);

// All requests in order of their start. `trace` is used with kTrace only and then says how many
// requests there are. INVALID_ARGUMENT for options that cannot be met.
absl::StatusOr<std::vector<PlannedRequest>> PlanWorkload(const WorkloadOptions& options,
                                                         const std::vector<TraceRow>& trace);

}  // namespace shoal::app
