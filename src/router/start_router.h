// SPDX-License-Identifier: Apache-2.0
// Starting a router over models that are already loaded, with its timing open to tests.
#pragma once

#include <memory>

#include "absl/status/statusor.h"
#include "absl/time/time.h"
#include "router/fleet/replica_state.h"
#include "router/frontend/http_server/http_server.h"
#include "router/frontend/served_model.h"
#include "router/router.h"

namespace shoal::router {

struct RouterTuning {
  uint32_t load_interval_ms = 100;
  HealthLimits health;
  absl::Duration keep_alive = absl::Seconds(10);
  size_t client_buffer_max = 1 << 20;
  int64_t pool_bytes_max = int64_t{64} << 20;
  size_t connections_max = 4096;
  ConnectionLimits connection;  // body_bytes_max comes from the options
};

// What the options say about timing.
RouterTuning TuningFrom(const RouterOptions& options);

absl::StatusOr<std::unique_ptr<Router>> StartRouterWithModels(const RouterOptions& options,
                                                              ServedModels models,
                                                              const RouterTuning& tuning);

}  // namespace shoal::router
