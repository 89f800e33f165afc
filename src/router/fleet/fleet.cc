// SPDX-License-Identifier: Apache-2.0
#include "router/fleet/fleet.h"

#include <utility>

#include "absl/strings/str_cat.h"
#include "base/check.h"
#include "base/log.h"
#include "base/philox.h"

namespace shoal::router {

Fleet::Fleet(const FleetOptions& options, Post post, absl::Time now)
    : options_(options), post_(std::move(post)) {
  for (const FleetReplica& replica : options_.replicas) {
    Replica r;
    r.state = std::make_unique<ReplicaState>(replica.name, replica.model, replica.address,
                                             options_.limits, now);
    r.channel = MakeReplicaChannel({.address = replica.address,
                                    .cluster_token = options_.cluster_token,
                                    .router_incarnation = options_.router_incarnation,
                                    .load_interval_ms = options_.load_interval_ms,
                                    .queue_max = options_.queue_max});
    r.vocab_size = replica.vocab_size;
    r.model = replica.model;
    replicas_.push_back(std::move(r));
  }
}

double Fleet::Jitter(size_t index, uint64_t generation) const {
  const uint64_t seed = options_.router_incarnation;
  const auto numbers =
      Philox4x32({static_cast<uint32_t>(index), static_cast<uint32_t>(generation), 0, 0},
                 {static_cast<uint32_t>(seed), static_cast<uint32_t>(seed >> 32)});
  return static_cast<double>(numbers[0]) / 4294967296.0;
}

void Fleet::Open(size_t index, absl::Time now) {
  Replica& replica = replicas_[index];
  const uint64_t generation = replica.state->OnOpen(now);
  auto post = post_;
  replica.stream = replica.channel->Open({
      .on_message =
          [post, index, generation](WorkerValue message) {
            post(FleetEvent{index, generation, false, absl::OkStatus(), std::move(message)});
          },
      .on_closed =
          [post, index, generation](absl::Status reason) {
            post(FleetEvent{index, generation, true, std::move(reason), std::monostate{}});
          },
  });
}

void Fleet::Tick(absl::Time now) {
  for (size_t i = 0; i < replicas_.size(); ++i) {
    Replica& replica = replicas_[i];
    if (replica.stream != nullptr && replica.state->ShouldGiveUp(now)) {
      replica.last_reason = absl::UnavailableError("the replica is silent");
      replica.stream->Close();
    }
    if (!closing_ && replica.stream == nullptr && replica.state->ShouldOpen(now)) Open(i, now);
  }
}

absl::Status Fleet::OnWelcome(size_t index, const WelcomeValue& welcome, absl::Time now) {
  Replica& replica = replicas_[index];
  ReplicaExpectation expected;
  expected.model = replica.model;
  expected.vocab_size = replica.vocab_size;
  for (size_t i = 0; i < replicas_.size(); ++i) {
    const Replica& peer = replicas_[i];
    if (i == index || peer.model != replica.model || !peer.state->welcomed()) continue;
    expected.weights_digest = peer.state->weights_digest();
    break;
  }
  const absl::Status status = replica.state->OnWelcome(welcome, expected, now);
  if (status.ok()) {
    log::Info("replica {} is connected: incarnation {:016x}, profile {}",
              options_.replicas[index].name, welcome.incarnation, welcome.fingerprint);
  } else {
    log::Error("{}; it is not used", std::string(status.message()));
  }
  return status;
}

void Fleet::OnClosed(size_t index, const absl::Status& reason, absl::Time now) {
  Replica& replica = replicas_[index];
  const bool was_welcomed = replica.state->welcomed();
  replica.stream.reset();
  replica.state->OnClosed(now, Jitter(index, replica.state->generation()));
  if (reason.code() == absl::StatusCode::kUnauthenticated ||
      reason.code() == absl::StatusCode::kPermissionDenied) {
    log::Error("replica {} refuses this router: {}", options_.replicas[index].name,
               std::string(reason.message()));
  } else if (was_welcomed && !closing_) {
    log::Warning("replica {} is gone: {}", options_.replicas[index].name, reason.ToString());
  }
  replica.last_reason = reason;
}

DeltasValue Fleet::OnEvent(FleetEvent event, absl::Time now) {
  Replica& replica = replicas_[event.replica];
  SHOAL_CHECK(event.generation == replica.state->generation());
  if (event.closed) {
    OnClosed(event.replica, event.reason, now);
    return {};
  }
  absl::Status status;
  DeltasValue deltas;
  if (auto* welcome = std::get_if<WelcomeValue>(&event.message)) {
    status = OnWelcome(event.replica, *welcome, now);
  } else if (auto* load = std::get_if<LoadValue>(&event.message)) {
    status = replica.state->OnLoad(*load, now);
    if (!status.ok()) log::Error("{}", std::string(status.message()));
  } else {
    replica.state->OnOther(now);
    if (auto* some = std::get_if<DeltasValue>(&event.message)) deltas = std::move(*some);
  }
  if (!status.ok()) replica.stream->Close();
  replica.stream->ReadNext();  // no effect on a closed stream
  return deltas;
}

std::vector<ReplicaLoss> Fleet::TakeLost(absl::Time now) {
  std::vector<ReplicaLoss> lost;
  for (size_t i = 0; i < replicas_.size(); ++i) {
    Replica& replica = replicas_[i];
    const ReplicaHealth health = replica.state->Health(now);
    const bool used = health == ReplicaHealth::kReady || health == ReplicaHealth::kDraining;
    if (replica.used && !used) {
      const std::string& name = options_.replicas[i].name;
      if (health == ReplicaHealth::kStalled) {
        replica.state->OnStalled();
        log::Error("replica {} is stalled: its requests go elsewhere", name);
        lost.push_back({i, absl::UnavailableError(absl::StrCat("replica ", name, " stalled"))});
      } else {
        lost.push_back({.replica = i,
                        .reason = absl::UnavailableError(absl::StrCat(
                            "replica ", name, " was lost: ", replica.last_reason.message())),
                        .crashed = !replica.draining});
      }
    }
    replica.used = used;
    replica.draining = health == ReplicaHealth::kDraining;
  }
  return lost;
}

void Fleet::Submit(size_t index, const SubmitValue& submit) {
  Replica& replica = replicas_[index];
  replica.state->OnSubmitted(static_cast<int64_t>(submit.tokens.size()));
  // Without a stream the loss is told by TakeLost, and the sequence tried again.
  if (replica.stream != nullptr) replica.stream->Submit(submit);
}

void Fleet::End(size_t index, uint64_t wire_id, uint32_t attempt, bool tell_worker) {
  Replica& replica = replicas_[index];
  replica.state->OnEnded();
  if (tell_worker && replica.stream != nullptr) replica.stream->Cancel(wire_id, attempt);
}

FleetSnapshot Fleet::Snapshot(absl::Time now) const {
  FleetSnapshot snapshot;
  for (const Replica& replica : replicas_) snapshot.replicas.push_back(replica.state->View(now));
  return snapshot;
}

void Fleet::Close() {
  closing_ = true;
  for (Replica& replica : replicas_) {
    if (replica.stream != nullptr) replica.stream->Close();
  }
}

size_t Fleet::open() const {
  size_t count = 0;
  for (const Replica& replica : replicas_) count += replica.stream != nullptr ? 1 : 0;
  return count;
}

}  // namespace shoal::router
