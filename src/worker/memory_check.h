// SPDX-License-Identifier: Apache-2.0
// Whether a worker's memory fits the machine, checked before anything is allocated.
#pragma once

#include <cstdint>
#include <string>
#include <utility>
#include <vector>

#include "absl/status/status.h"

namespace shoal::worker {

// Bytes this process may still take: of the machine, and of its control group where that has a
// limit. 0 when the system does not say.
int64_t AvailableMemoryBytes();

// RESOURCE_EXHAUSTED shows the sum by name and the keys that change it when the uses do not fit
// into `available` bytes (0: not known, anything fits).
absl::Status CheckMemory(const std::vector<std::pair<std::string, int64_t>>& uses,
                         int64_t available);

}  // namespace shoal::worker
