// SPDX-License-Identifier: Apache-2.0
// Between worker.proto and the engine's values: checks what routers send, spells what they get.
#pragma once

#include "absl/status/statusor.h"
#include "scheduler/types/request.h"
#include "shoal/v1/worker.pb.h"
#include "worker/engine/engine_types.h"
#include "worker/frontend/limits.h"

namespace shoal::worker {

// The submission that `submit` asks for, for stream `stream`, run as sequence `id`.
// INVALID_ARGUMENT names the field, the value and what is allowed; lengths that depend on the pool
// are left to the scheduler.
absl::StatusOr<Submission> ToSubmission(v1::Submit submit, StreamId stream,
                                        scheduler::SequenceId id, const WorkerIdentity& identity,
                                        const FrontendLimits& limits);

void AppendDelta(EngineDelta delta, v1::Deltas* deltas);

v1::Welcome ToWelcome(const WorkerIdentity& identity);

struct LoadTimes {
  absl::Duration oldest_waiting;
  absl::Duration stalled;
};
v1::Load ToLoad(const EngineLoad& load, const LoadTimes& times, uint64_t incarnation);

}  // namespace shoal::worker
