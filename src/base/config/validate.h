// SPDX-License-Identifier: Apache-2.0
// The rules of a configuration that concern several keys at once.
#pragma once

#include "base/config/cluster_config.h"
#include "base/config/problems.h"

namespace shoal::config {

// Reports unknown references, names used twice, ports that overlap or do not exist, and layouts
// that cannot be placed. Every key of `config` is valid by itself.
void Validate(const ClusterConfig& config, Problems& problems);

}  // namespace shoal::config
