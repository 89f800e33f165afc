// SPDX-License-Identifier: Apache-2.0
// The files of a config that hold secrets: API keys and the cluster token.
#pragma once

#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "base/config/cluster_config.h"

namespace shoal::app {

// The secret in the first line of `cluster_token_file`; empty when none is configured. An error
// names the key, the path and what is wrong with the file.
absl::StatusOr<std::string> ReadClusterTokenFile(const config::ClusterConfig& config);

// Reads every secret file as the processes will. Gives warnings, for example of a file that others
// may read; an error when one is missing, unreadable, no file, or holds no secret.
absl::StatusOr<std::vector<std::string>> CheckSecretFiles(const config::ClusterConfig& config);

}  // namespace shoal::app
