// SPDX-License-Identifier: Apache-2.0
// Least work: the replica expected to have computed its queue first, with a price on full KV
// memory.
#pragma once

#include "router/policy/policy.h"

namespace shoal::router {

struct LeastWorkOptions {
  double kv_price_seconds = 0.15;           // lambda
  double default_tokens_per_second = 2000;  // until a replica has measured itself
  double kv_use_max = 0.98;                 // keeps the price finite
};

// score = (queued tokens + own credit) / throughput + lambda * k / (1 - k), k = KV use. The credit
// counts what this router sent since a report could show it, so a burst does not herd.
class LeastWork final : public Policy {
 public:
  explicit LeastWork(LeastWorkOptions options) : options_(options) {}
  const char* name() const override { return "least-work"; }
  std::vector<double> Score(const FleetSnapshot& fleet, const RouteRequest& request,
                            const std::vector<size_t>& candidates) const override;

 private:
  const LeastWorkOptions options_;
};

}  // namespace shoal::router
