// SPDX-License-Identifier: Apache-2.0
// Ids that cross between router, scheduler and executor.
#pragma once

#include <cstdint>

#include "base/strong_id.h"

namespace shoal::scheduler {

// Unique within a worker incarnation; chosen by the worker, never by a client.
using SequenceId = StrongId<struct SequenceTag>;
// Number of a StepPlan; counts up from 1 without gaps.
using StepNumber = StrongId<struct StepTag>;
// A block of one KV group's pool, in [0, blocks).
using BlockId = int32_t;
using TokenId = int32_t;

}  // namespace shoal::scheduler
