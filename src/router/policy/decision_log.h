// SPDX-License-Identifier: Apache-2.0
// DecisionLog: the last routing decisions with everything needed to make them again.
#pragma once

#include <cstdint>
#include <deque>
#include <optional>
#include <string>

#include "router/policy/policy.h"

namespace shoal::router {

struct Decision {
  std::string policy;
  FleetSnapshot fleet;
  RouteRequest request;
  uint64_t inputs_digest = 0;  // of fleet and request
  std::optional<Route> route;
};

// 64-bit digest of all that a policy may look at.
uint64_t InputsDigest(const FleetSnapshot& fleet, const RouteRequest& request);

// "#12 least-work -> chat/0 (chat/0 0.004, chat/1 0.012) inputs 8a…": one log line.
std::string Describe(const Decision& decision);

// True when the policy chooses again what the record says, from the very same inputs.
bool Replays(const Policy& policy, const Decision& decision);

// Keeps the last `capacity` decisions. One thread's.
class DecisionLog {
 public:
  explicit DecisionLog(size_t capacity) : capacity_(capacity) {}
  const Decision& Add(Decision decision);
  const std::deque<Decision>& decisions() const { return decisions_; }

 private:
  const size_t capacity_;
  std::deque<Decision> decisions_;
};

}  // namespace shoal::router
