// SPDX-License-Identifier: Apache-2.0
// The shared secret that internal calls carry.
#pragma once

#include "absl/strings/string_view.h"

namespace shoal::worker {

inline constexpr char kClusterTokenKey[] = "shoal-cluster-token";

// Whether `given` is the expected token. Takes the same time wherever they differ.
bool TokenMatches(absl::string_view expected, absl::string_view given);

}  // namespace shoal::worker
