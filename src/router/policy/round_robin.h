// SPDX-License-Identifier: Apache-2.0
// Round robin: candidates in turn, whatever their load.
#pragma once

#include "router/policy/policy.h"

namespace shoal::router {

class RoundRobin final : public Policy {
 public:
  const char* name() const override { return "round-robin"; }
  // Distance from the candidate whose turn it is, so the scores never tie.
  std::vector<double> Score(const FleetSnapshot& fleet, const RouteRequest& request,
                            const std::vector<size_t>& candidates) const override;
};

}  // namespace shoal::router
