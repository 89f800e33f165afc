// SPDX-License-Identifier: Apache-2.0
// FleetSnapshot: the replicas as the router knows them at one moment. An immutable value: policies
// decide on it, and it is what GetClusterState and /metrics show.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

namespace shoal::router {

enum class ReplicaHealth : uint8_t {
  kStarting,  // not yet heard of since the router started, or no Welcome yet
  kReady,
  kDraining,  // finishes what it has
  kStalled,   // has work but makes no progress, or is silent
  kDown,      // not connected, or refused
};

const char* Name(ReplicaHealth health);

struct ReplicaView {
  std::string name;
  std::string model;
  std::string address;
  ReplicaHealth health = ReplicaHealth::kStarting;
  std::string refusal;       // why a connected replica is not used; empty otherwise
  uint64_t incarnation = 0;  // of the worker; 0 before the first Welcome
  uint64_t generation = 0;   // counts the router's connections to it and its stalls
  std::string fingerprint;
  int32_t max_context = 0;  // 0: unknown
  int64_t pool_tokens = 0;  // 0: unknown
  // The last load report.
  int64_t steps = 0;
  int64_t running = 0;
  int64_t waiting = 0;
  int64_t queued_tokens = 0;
  int64_t running_tokens = 0;
  int64_t blocks_total = 0;
  int64_t blocks_free = 0;
  int64_t preemptions = 0;
  int64_t prefix_query_tokens = 0;
  int64_t prefix_hit_tokens = 0;
  double tokens_per_second = 0;  // 0: not measured
  // What this router has sent there.
  int64_t credit_tokens = 0;  // tokens of submissions that no report can reflect yet
  int64_t inflight = 0;       // sequences not yet ended
};

struct FleetSnapshot {
  std::vector<ReplicaView> replicas;  // in the order of the configuration
};

}  // namespace shoal::router
