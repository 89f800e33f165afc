// SPDX-License-Identifier: Apache-2.0
// Arithmetic over a cluster's ranks and hosts.
#pragma once

#include <cstdint>
#include <string>

#include "base/config/cluster_config.h"

namespace shoal::config {

// Ranks of one copy.
int64_t WorldSize(const ReplicaConfig& replica);
// Ranks of all copies of all replicas.
int64_t TotalRanks(const ClusterConfig& config);
// Names that always mean the machine itself.
bool IsLocalHost(const std::string& host);

}  // namespace shoal::config
