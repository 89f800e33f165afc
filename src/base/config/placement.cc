// SPDX-License-Identifier: Apache-2.0
#include "base/config/placement.h"

namespace shoal::config {

int64_t WorldSize(const ReplicaConfig& replica) {
  return int64_t{replica.parallel.tensor} * replica.parallel.pipeline * replica.parallel.data;
}

int64_t TotalRanks(const ClusterConfig& config) {
  int64_t ranks = 0;
  for (const ReplicaConfig& replica : config.replicas) ranks += replica.count * WorldSize(replica);
  return ranks;
}

bool IsLocalHost(const std::string& host) {
  return host == "localhost" || host == "127.0.0.1" || host == "::1";
}

}  // namespace shoal::config
