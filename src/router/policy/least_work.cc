// SPDX-License-Identifier: Apache-2.0
#include "router/policy/least_work.h"

#include <algorithm>
#include <cmath>

namespace shoal::router {

std::vector<double> LeastWork::Score(const FleetSnapshot& fleet, const RouteRequest& request,
                                     const std::vector<size_t>& candidates) const {
  std::vector<double> scores;
  for (const size_t index : candidates) {
    const ReplicaView& replica = fleet.replicas[index];
    const bool measured = std::isfinite(replica.tokens_per_second) && replica.tokens_per_second > 0;
    const double throughput =
        measured ? replica.tokens_per_second : options_.default_tokens_per_second;
    const double tokens = static_cast<double>(std::max<int64_t>(0, replica.queued_tokens)) +
                          static_cast<double>(std::max<int64_t>(0, replica.credit_tokens));
    double use = 0;
    if (replica.blocks_total > 0) {
      use = 1.0 -
            static_cast<double>(replica.blocks_free) / static_cast<double>(replica.blocks_total);
    }
    use = std::clamp(use, 0.0, options_.kv_use_max);
    scores.push_back(tokens / throughput + options_.kv_price_seconds * use / (1.0 - use));
  }
  return scores;
}

}  // namespace shoal::router
