// SPDX-License-Identifier: Apache-2.0
// Dispatcher: what replicas report and what sessions answer.
#include <algorithm>
#include <set>
#include <utility>

#include "base/check.h"
#include "base/log.h"
#include "router/session/dispatcher.h"

namespace shoal::router {

void Dispatcher::OnFleetEvent(FleetEvent event, absl::Time now) {
  const size_t replica = event.replica;
  DeltasValue deltas = fleet_->OnEvent(std::move(event), now);
  BlameFor(replica, deltas);
  for (SequenceDeltaValue& delta : deltas) OnDelta(replica, std::move(delta), now);
}

std::vector<Dispatcher::WireRef> Dispatcher::SequencesAt(size_t replica) const {
  std::vector<WireRef> found;
  for (const auto& [wire_id, ref] : wires_) {
    if (active_.at(ref.id).session->sequence(ref.sequence).replica() == replica) {
      found.push_back(ref);
    }
  }
  return found;
}

bool Dispatcher::OnProbation(const WireRef& ref) const {
  return active_.at(ref.id).session->sequence(ref.sequence).on_probation();
}

// Which sequences may have been what ended the replica: the one on probation there, of which there
// is at most one, or else all.
std::vector<Dispatcher::WireRef> Dispatcher::Suspected(size_t replica) const {
  std::vector<WireRef> found = SequencesAt(replica);
  for (const WireRef& ref : found) {
    if (OnProbation(ref)) return {ref};
  }
  return found;
}

// A replica whose rank fails still ends its sequences itself, with an error each.
void Dispatcher::BlameFor(size_t replica, const DeltasValue& deltas) {
  std::set<uint64_t> failed;  // wire ids
  for (const SequenceDeltaValue& delta : deltas) {
    const bool crash = delta.finish == WireFinish::kError && !delta.rejected &&
                       delta.error.code() == absl::StatusCode::kUnavailable;
    if (crash) failed.insert(delta.wire_id);
  }
  if (failed.empty()) return;
  for (const WireRef& ref : Suspected(replica)) {
    const Active& active = active_.at(ref.id);
    const bool fails = failed.contains(active.wire_ids[static_cast<size_t>(ref.sequence)]);
    if (fails) active.session->Blame(ref.sequence);
  }
}

void Dispatcher::OnDelta(size_t replica, SequenceDeltaValue delta, absl::Time now) {
  const auto wire = wires_.find(delta.wire_id);
  if (wire == wires_.end()) {
    metrics_.OnLateTokens(static_cast<int64_t>(delta.tokens.size()));
    return;
  }
  const WireRef ref = wire->second;
  Active& active = active_.at(ref.id);
  const Sequence& sequence = active.session->sequence(ref.sequence);
  if (sequence.replica() != replica || sequence.attempt() != delta.attempt) {
    metrics_.OnLateTokens(static_cast<int64_t>(delta.tokens.size()));
    return;
  }
  const auto tokens = static_cast<int64_t>(delta.tokens.size());
  if (tokens > 0) {
    absl::Time& last = active.last_token[static_cast<size_t>(ref.sequence)];
    if (last == absl::InfinitePast()) {
      metrics_.OnFirstToken(now - active.session->spec().arrival);
    } else {
      metrics_.OnNextTokens((now - last) / tokens, tokens);
    }
    last = now;
  }
  Actions actions = active.session->OnDelta(ref.sequence, std::move(delta), now);
  const bool cancelled =
      std::any_of(actions.cancels.begin(), actions.cancels.end(),
                  [&ref](const CancelAction& cancel) { return cancel.sequence == ref.sequence; });
  if (!cancelled && !active.session->sequence(ref.sequence).active()) {
    ForgetWire(active, ref.sequence, replica, /*tell_worker=*/false);
  }
  Carry(ref.id, std::move(actions), now);
}

void Dispatcher::HandleLost(absl::Time now) {
  for (const ReplicaLoss& loss : fleet_->TakeLost(now)) {
    const size_t replica = loss.replica;
    const std::vector<WireRef> hit = SequencesAt(replica);
    if (loss.crashed) {
      for (const WireRef& ref : Suspected(replica)) {
        active_.at(ref.id).session->Blame(ref.sequence);
      }
    }
    metrics_.OnReplicaLost(static_cast<int64_t>(hit.size()));
    for (const WireRef& ref : hit) {
      const auto it = active_.find(ref.id);
      if (it == active_.end()) continue;  // a sibling's end took it along
      ForgetWire(it->second, ref.sequence, replica, /*tell_worker=*/true);
      Carry(ref.id, it->second.session->OnReplicaLost(ref.sequence, loss.reason, now), now);
    }
  }
}

void Dispatcher::CheckTimes(absl::Time now) {
  std::vector<uint64_t> expired;
  for (auto& [id, active] : active_) {
    if (active.session->spec().deadline <= now) expired.push_back(id);
    if (now - active.last_sent < options_.keep_alive) continue;
    active.last_sent = now;
    active.sink->OnWait();
  }
  for (const uint64_t id : expired) {
    Carry(
        id,
        active_.at(id).session->Fail(absl::DeadlineExceededError("the request's deadline passed")),
        now);
  }
}

void Dispatcher::Carry(uint64_t id, Actions actions, absl::Time now) {
  Active& active = active_.at(id);
  Session& session = *active.session;
  for (const CancelAction& cancel : actions.cancels) {
    ForgetWire(active, cancel.sequence, cancel.replica, /*tell_worker=*/true);
  }
  metrics_.OnRetries(actions.retries);
  metrics_.OnLateTokens(actions.overrun_tokens);
  bool keeps_up = true;
  if (!actions.events.empty()) active.last_sent = now;
  for (ChoiceEvent& event : actions.events) {
    if (keeps_up) keeps_up = active.sink->OnChoice(std::move(event));
  }
  for (const int32_t sequence : actions.routes) unrouted_.push_back({id, sequence});
  if (!actions.end.has_value()) {
    retry_budget_ -= actions.retries;
    absl::Status failure;
    if (!keeps_up) {
      failure = absl::CancelledError("the client reads too slowly");
    } else if (actions.retries > 0 && retry_budget_ < 0) {
      failure = absl::UnavailableError("replicas failed and the retry budget is spent");
    }
    if (!failure.ok()) Carry(id, session.Fail(failure), now);
    return;
  }
  retry_budget_ = std::max(retry_budget_, 0.0);
  metrics_.OnEnd(session.spec(), *actions.end, now);
  const EndEvent& end = *actions.end;
  log::Info("request {} {}: {} prompt ({} cached), {} completion tokens{}{}", session.spec().label,
            end.status.ok() ? "ended" : "failed", end.usage.prompt_tokens, end.usage.cached_tokens,
            end.usage.completion_tokens, end.status.ok() ? "" : ": ",
            end.status.ok() ? std::string() : end.status.ToString());
  for (const uint64_t wire_id : active.wire_ids) SHOAL_CHECK(wire_id == 0);
  if (active.started) --started_;
  const std::shared_ptr<ClientSink> sink = std::move(active.sink);
  const AdmissionSlot slot = std::move(active.slot);  // given back last
  active_.erase(id);
  sink->OnEnd(*std::move(actions.end));
  ended_.fetch_add(1);
}

}  // namespace shoal::router
