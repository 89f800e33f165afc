// SPDX-License-Identifier: Apache-2.0
// Where internal calls carry the cluster's shared secret.
#pragma once

namespace shoal::worker {

inline constexpr char kClusterTokenKey[] = "shoal-cluster-token";

}  // namespace shoal::worker
