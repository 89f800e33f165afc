// SPDX-License-Identifier: Apache-2.0
#include "router/policy/round_robin.h"

namespace shoal::router {

std::vector<double> RoundRobin::Score(const FleetSnapshot& fleet, const RouteRequest& request,
                                      const std::vector<size_t>& candidates) const {
  const size_t count = candidates.size();
  std::vector<double> scores;
  for (size_t c = 0; c < count; ++c) {
    scores.push_back(static_cast<double>((c + count - request.ordinal % count) % count));
  }
  return scores;
}

}  // namespace shoal::router
