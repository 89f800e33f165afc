// SPDX-License-Identifier: Apache-2.0
// Every key of the configuration: its type, default, range and one sentence.
#pragma once

#include "base/config/binder.h"
#include "base/config/cluster_config.h"

namespace shoal::config {

// Binds the whole file to `config`. Cluster-wide `engine` and `numerics` become the defaults of
// every replica.
void BindCluster(Binder& binder, ClusterConfig& config);

}  // namespace shoal::config
