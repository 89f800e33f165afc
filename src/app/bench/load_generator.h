// SPDX-License-Identifier: Apache-2.0
// LoadGenerator: sends planned requests to an OpenAI-compatible server and times the streams. One
// thread drives all connections, so thousands of streams cost the client little.
#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "app/bench/report.h"
#include "app/bench/workload.h"

namespace shoal::app {

struct LoadOptions {
  std::string url;  // http://host:port
  std::string api_key;
  std::string model;
  double temperature = 0;
  // Streams at once: the closed loop keeps so many open; an open loop never has more.
  int64_t concurrency = 16;
  double timeout_seconds = 600;  // of one request
};

struct Progress {
  int64_t done = 0;
  int64_t failed = 0;
  int64_t running = 0;
  int64_t total = 0;
  double seconds = 0;
};

// Runs all requests to their end; one record each, in the same order. A request that fails has its
// error in its record. `on_progress` is called about ten times a second. UNAVAILABLE when the
// client itself cannot work.
absl::StatusOr<std::vector<RequestRecord>> GenerateLoad(
    const LoadOptions& options, const std::vector<PlannedRequest>& requests,
    const std::function<void(const Progress&)>& on_progress);

// The name of the first model the server lists.
absl::StatusOr<std::string> FirstModel(const LoadOptions& options);

}  // namespace shoal::app
