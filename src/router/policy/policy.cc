// SPDX-License-Identifier: Apache-2.0
#include "router/policy/policy.h"

#include <algorithm>
#include <tuple>

#include "absl/strings/str_cat.h"
#include "base/check.h"
#include "router/policy/least_work.h"
#include "router/policy/round_robin.h"

namespace shoal::router {

const char* Name(ReplicaHealth health) {
  switch (health) {
    case ReplicaHealth::kStarting:
      return "starting";
    case ReplicaHealth::kReady:
      return "ready";
    case ReplicaHealth::kDraining:
      return "draining";
    case ReplicaHealth::kStalled:
      return "stalled";
    case ReplicaHealth::kDown:
      return "down";
  }
  return "unknown";
}

absl::StatusOr<std::unique_ptr<Policy>> MakePolicy(const std::string& name) {
  if (name == "round-robin") return std::make_unique<RoundRobin>();
  if (name == "least-work") return std::make_unique<LeastWork>(LeastWorkOptions{});
  return absl::InvalidArgumentError(
      absl::StrCat("router.policy \"", name, "\" is unknown; use round-robin or least-work"));
}

std::vector<size_t> Candidates(const FleetSnapshot& fleet, const RouteRequest& request) {
  std::vector<size_t> all, equal;
  for (size_t i = 0; i < fleet.replicas.size(); ++i) {
    const ReplicaView& replica = fleet.replicas[i];
    if (replica.health != ReplicaHealth::kReady || replica.model != request.model) continue;
    const Exclusion self{i, replica.generation};
    if (std::find(request.excluded.begin(), request.excluded.end(), self) !=
        request.excluded.end()) {
      continue;
    }
    all.push_back(i);
    if (replica.fingerprint == request.fingerprint) equal.push_back(i);
  }
  if (request.fingerprint.empty()) return all;
  if (request.require_fingerprint || !equal.empty()) return equal;
  return all;
}

std::optional<Route> ChooseReplica(const Policy& policy, const FleetSnapshot& fleet,
                                   const RouteRequest& request) {
  const std::vector<size_t> candidates = Candidates(fleet, request);
  if (candidates.empty()) return std::nullopt;
  const std::vector<double> scores = policy.Score(fleet, request, candidates);
  SHOAL_CHECK(scores.size() == candidates.size());
  Route route;
  size_t best = 0;
  const size_t count = candidates.size();
  auto key = [&](size_t c) {
    const size_t rotated = (c + count - request.ordinal % count) % count;
    return std::make_tuple(scores[c], fleet.replicas[candidates[c]].inflight, rotated);
  };
  for (size_t c = 0; c < count; ++c) {
    route.reasons.push_back({candidates[c], scores[c]});
    if (key(c) < key(best)) best = c;
  }
  route.replica = candidates[best];
  return route;
}

}  // namespace shoal::router
