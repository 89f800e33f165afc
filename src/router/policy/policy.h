// SPDX-License-Identifier: Apache-2.0
// Policy: which replica a sequence goes to. Pure: a function of the fleet snapshot and the
// request's features, so a recorded decision can be replayed.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "router/policy/fleet_snapshot.h"

namespace shoal::router {

// One replica, up to its next stall or reconnection, that must not be chosen again for a sequence.
struct Exclusion {
  size_t replica = 0;
  uint64_t generation = 0;
  friend bool operator==(const Exclusion&, const Exclusion&) = default;
};

struct RouteRequest {
  uint64_t ordinal = 0;  // counts the router's decisions
  std::string model;
  int64_t tokens = 0;  // to compute: prompt and re-sent tokens
  std::vector<Exclusion> excluded;
  std::string fingerprint;           // preferred numerics profile; empty: any
  bool require_fingerprint = false;  // no other profile will do
};

struct CandidateScore {
  size_t replica = 0;
  double score = 0;  // smaller is better
};

struct Route {
  size_t replica = 0;
  std::vector<CandidateScore> reasons;  // all candidates, in fleet order
};

class Policy {
 public:
  virtual ~Policy() = default;
  virtual const char* name() const = 0;
  // Scores of `candidates` (never empty; indexes into the fleet), in their order.
  virtual std::vector<double> Score(const FleetSnapshot& fleet, const RouteRequest& request,
                                    const std::vector<size_t>& candidates) const = 0;
};

// "round-robin" or "least-work"; INVALID_ARGUMENT names the known ones.
absl::StatusOr<std::unique_ptr<Policy>> MakePolicy(const std::string& name);

// Replicas that could take the request: ready, of its model, not excluded; with an equal
// fingerprint only, where one is required, or where such replicas exist among them.
std::vector<size_t> Candidates(const FleetSnapshot& fleet, const RouteRequest& request);

// The best-scored candidate; among equals the one with fewest sequences in flight, then by rotation
// over `ordinal`. nullopt when there is no candidate.
std::optional<Route> ChooseReplica(const Policy& policy, const FleetSnapshot& fleet,
                                   const RouteRequest& request);

}  // namespace shoal::router
