// SPDX-License-Identifier: Apache-2.0
#include "router/frontend/service.h"

#include <algorithm>
#include <utility>

#include "base/random.h"
#include "base/status.h"

namespace shoal::router {

absl::Status Service::Launch(uint64_t id, GenerationRequest request, AdmissionSlot slot,
                             const MakeSink& make_sink) {
  SHOAL_ASSIGN_OR_RETURN(const ServedModel* model, FindModel(options.models, request.model));
  const absl::Time latest = request.arrival + options.request_deadline;
  request.deadline = std::min(request.deadline, latest);
  SHOAL_ASSIGN_OR_RETURN(RequestSpec spec, Prepare(request, *model, RandomId()));
  DispatchRequest dispatch;
  dispatch.id = id;
  dispatch.sink = make_sink(spec);
  dispatch.spec = std::move(spec);
  dispatch.tokenizer = model->tokenizer;
  dispatch.slot = std::move(slot);
  dispatcher.Submit(std::move(dispatch));
  return absl::OkStatus();
}

bool Service::Ready() const {
  if (admission.closed()) return false;
  const auto fleet = dispatcher.snapshot();
  for (const ServedModel& model : options.models) {
    const bool ready = std::any_of(
        fleet->replicas.begin(), fleet->replicas.end(), [&model](const ReplicaView& replica) {
          return replica.model == model.name && replica.health == ReplicaHealth::kReady;
        });
    if (!ready) return false;
  }
  return true;
}

int32_t Service::ContextOf(const std::string& model) const {
  int32_t context = 0;
  const auto fleet = dispatcher.snapshot();
  for (const ReplicaView& replica : fleet->replicas) {
    if (replica.model == model) context = std::max(context, replica.max_context);
  }
  return context;
}

}  // namespace shoal::router
