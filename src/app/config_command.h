// SPDX-License-Identifier: Apache-2.0
// What the commands that read a cluster config share.
#pragma once

#include <string>

#include "absl/status/statusor.h"
#include "absl/time/time.h"
#include "app/flags.h"
#include "base/config/cluster_config.h"

namespace shoal::app {

// Reads the positional CONFIG with its --set overrides.
absl::StatusOr<config::ClusterConfig> ReadConfig(const Flags& flags);

// The shared token of the cluster: from SHOAL_CLUSTER_TOKEN, else from cluster_token_file, else
// empty (no token required).
absl::StatusOr<std::string> ReadClusterToken(const config::ClusterConfig& config);

// Sends this process's log to where hosts.localhost.log says: `file_stem`.log in that directory, or
// standard error. `component` names the process in every line.
void ConfigureLog(const config::ClusterConfig& config, const std::string& component,
                  const std::string& file_stem);

// Blocks SIGTERM and SIGINT in this and all later threads; call before starting any.
void BlockTerminationSignals();
// Waits until one of them arrives (true) or `timeout` has passed (false).
bool WaitForTermination(absl::Duration timeout);

}  // namespace shoal::app
