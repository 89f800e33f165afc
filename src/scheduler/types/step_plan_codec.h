// SPDX-License-Identifier: Apache-2.0
// Byte form of a StepPlan, as the leader broadcasts it to the other ranks. Little-endian fixed
// width integers; floats by their bits; every list is preceded by its length. Deterministic: equal
// plans give equal bytes.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "absl/status/statusor.h"
#include "scheduler/types/step_plan.h"

namespace shoal::scheduler {

// The plan's bytes, with StepPlanDigest(plan) in the header (plan.digest itself is not read).
std::vector<uint8_t> EncodeStepPlan(const StepPlan& plan);

// The plan, with `digest` set. DATA_LOSS when the bytes are cut, too long, of another format
// version, hold a value outside its range, or do not match their digest. Lengths are checked
// against what remains before anything is allocated.
absl::StatusOr<StepPlan> DecodeStepPlan(std::span<const uint8_t> bytes);

}  // namespace shoal::scheduler
