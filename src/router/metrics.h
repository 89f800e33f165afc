// SPDX-License-Identifier: Apache-2.0
// RouterMetrics: everything /metrics shows. Names that vLLM exports where the meaning is the same,
// so that existing dashboards and autoscalers work; shoal_router_* for the rest.
#pragma once

#include <cstdint>
#include <memory>
#include <string>

#include "absl/time/time.h"
#include "router/policy/fleet_snapshot.h"
#include "router/session/request_spec.h"

namespace shoal::router {

// Thread-safe.
class RouterMetrics {
 public:
  RouterMetrics();
  ~RouterMetrics();

  void OnAccepted(const RequestSpec& spec);
  void OnStarted(absl::Duration queued);  // begins to look for a replica
  void OnRouted(const std::string& replica);
  void OnFirstToken(absl::Duration since_arrival);
  void OnNextTokens(absl::Duration each, int64_t count);
  void OnEnd(const RequestSpec& spec, const EndEvent& end, absl::Time now);
  void OnRetries(int64_t count);
  void OnLateTokens(int64_t count);  // of ended sequences and older attempts, dropped
  void OnReplicaLost(int64_t sequences);
  void OnHttp(const std::string& route, int status);

  struct Gauges {
    int64_t accepted = 0;
    int64_t ended = 0;
    int64_t held = 0;
  };
  // The Prometheus text format.
  std::string Expose(const FleetSnapshot& fleet, const Gauges& gauges);

 private:
  struct State;
  const std::unique_ptr<State> state_;
};

}  // namespace shoal::router
