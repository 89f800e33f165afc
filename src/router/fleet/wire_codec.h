// SPDX-License-Identifier: Apache-2.0
// Translation between wire values and the messages of worker.proto.
#pragma once

#include "router/fleet/wire.h"
#include "shoal/v1/worker.pb.h"

namespace shoal::router {

v1::RouterMessage HelloMessage(uint64_t router_incarnation, uint32_t load_interval_ms);
v1::RouterMessage SubmitMessage(const SubmitValue& submit);
v1::RouterMessage CancelMessage(uint64_t wire_id, uint32_t attempt);

// monostate for a message of a later protocol that means nothing to this router.
WorkerValue FromMessage(const v1::WorkerMessage& message);

}  // namespace shoal::router
