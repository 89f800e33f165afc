// SPDX-License-Identifier: Apache-2.0
// Fleet: all replicas of a router: their connections, their health, what is in flight there.
#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/time/time.h"
#include "router/fleet/replica_state.h"
#include "router/fleet/replica_stream.h"
#include "router/fleet/wire.h"

namespace shoal::router {

struct FleetReplica {
  std::string name;
  std::string model;
  std::string address;
  int32_t vocab_size = 0;  // of the model's tokenizer
};

struct FleetOptions {
  std::vector<FleetReplica> replicas;
  std::string cluster_token;
  uint64_t router_incarnation = 0;
  uint32_t load_interval_ms = 100;
  size_t queue_max = 0;
  HealthLimits limits;
};

// From a connection's threads to the fleet's owner.
struct FleetEvent {
  size_t replica = 0;
  uint64_t generation = 0;
  bool closed = false;
  absl::Status reason;  // with closed
  WorkerValue message;  // otherwise
};

struct ReplicaLoss {
  size_t replica = 0;
  absl::Status reason;
  bool crashed = false;  // it ended or failed, without having drained; not: it stalled
};

// Owned by one thread, apart from `post`, which connections call.
class Fleet {
 public:
  using Post = std::function<void(FleetEvent)>;
  Fleet(const FleetOptions& options, Post post, absl::Time now);

  // Deltas to hand to sessions; empty for other events.
  DeltasValue OnEvent(FleetEvent event, absl::Time now);
  // (Re)connects what is due and gives up on silent connections.
  void Tick(absl::Time now);
  // Replicas whose sequences are to be sent elsewhere; each loss is told once.
  std::vector<ReplicaLoss> TakeLost(absl::Time now);

  void Submit(size_t replica, const SubmitValue& submit);
  // Forgets one sequence in flight; `tell_worker` cancels it there.
  void End(size_t replica, uint64_t wire_id, uint32_t attempt, bool tell_worker);

  FleetSnapshot Snapshot(absl::Time now) const;
  // No more connections. Done when open() is 0, after the events of the closed ones.
  void Close();
  size_t open() const;

 private:
  struct Replica {
    std::unique_ptr<ReplicaState> state;
    std::unique_ptr<ReplicaChannel> channel;
    std::shared_ptr<ReplicaStream> stream;  // null when not connected
    int32_t vocab_size = 0;
    std::string model;
    bool used = false;         // was ready or draining at the last look
    bool draining = false;     // was draining at the last look
    absl::Status last_reason;  // why it was closed or refused
  };

  void OnClosed(size_t index, const absl::Status& reason, absl::Time now);
  absl::Status OnWelcome(size_t index, const WelcomeValue& welcome, absl::Time now);
  void Open(size_t index, absl::Time now);
  double Jitter(size_t index, uint64_t generation) const;

  const FleetOptions options_;
  const Post post_;
  std::vector<Replica> replicas_;
  bool closing_ = false;
};

}  // namespace shoal::router
