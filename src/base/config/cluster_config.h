// SPDX-License-Identifier: Apache-2.0
// ClusterConfig: the one file that is checked, simulated and served (DESIGN 5). Reading is strict:
// unknown keys, wrong types, impossible layouts and overlapping ports are errors that name the key,
// the line, the value and the rule. Values of features that are not built are refused with
// "not available yet".
#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/time/time.h"

namespace shoal::config {

struct Endpoint {
  std::string host;
  int32_t port = 0;  // 0: chosen by the system (tests)
  std::string ToString() const;
};

struct ModelConfig {
  std::string name;
  std::string path;           // absolute after reading
  std::string chat_template;  // path of a template file; empty: the model's own
};

struct KvConfig {
  int32_t block_tokens = 16;
  int64_t memory_bytes = int64_t{1} << 30;
  std::string dtype = "auto";  // auto | float32 | float16
};

struct EngineConfig {
  int32_t max_context = 0;  // 0: the model's
  int32_t max_batch_tokens = 512;
  int32_t max_sequences = 64;
  int32_t max_waiting = 1024;
  int32_t plans_in_flight = 2;
  bool prefix_cache = true;
  absl::Duration priority_step = absl::Seconds(5);
  KvConfig kv;
};

struct NumericsConfig {
  std::string mode = "exact";
  int32_t shards = 0;               // 0: auto (24 on cpu)
  std::string activation = "auto";  // auto | float32 | int8
};

struct ParallelConfig {
  int32_t tensor = 1, pipeline = 1, data = 1;
};

struct ReplicaConfig {
  std::string name;
  std::string model;
  int32_t count = 1;
  std::string role = "unified";
  std::string device = "cpu";
  ParallelConfig parallel;
  std::vector<std::string> hosts = {"localhost"};
  int32_t ranks_per_host = 0;  // 0: all on the first host
  int32_t threads_per_rank = 1;
  EngineConfig engine;      // cluster-wide values with this replica's overrides
  NumericsConfig numerics;  // likewise
};

struct RouterConfig {
  Endpoint http{"127.0.0.1", 8000};
  Endpoint grpc{"127.0.0.1", 8001};
  std::string policy = "least-work";  // round-robin | least-work
  int32_t max_inflight = 1024;        // requests being answered at once
  int32_t max_queue = 1024;           // requests waiting for a replica
  int64_t max_body_bytes = int64_t{8} << 20;
  std::string api_keys_file;  // one key per line; empty: none needed
  std::vector<std::string> cors_origins;
  int32_t threads = 2;  // for HTTP, and for tokenizing and rendering
};

struct DeadlineConfig {
  absl::Duration step = absl::Seconds(60);               // work but no step for this long: stalled
  absl::Duration hang = absl::Seconds(120);              // no progress for this long: restarted
  absl::Duration start = absl::Seconds(120);             // a replica must be ready by then
  absl::Duration request = absl::Seconds(600);           // a request without its own deadline
  absl::Duration first_token_retry = absl::Seconds(10);  // bound of retries before the first token
};

struct HostConfig {
  std::string interface;  // address internal ports listen on; empty: loopback if all are local
  std::string log;        // directory of log files; empty: standard error
};

struct ClusterConfig {
  std::string cluster;
  std::string source_path;  // the file it was read from, absolute
  std::vector<ModelConfig> models;
  RouterConfig router;
  std::vector<ReplicaConfig> replicas;
  int32_t base_port = 9000;
  DeadlineConfig deadlines;
  int32_t drain_seconds = 30;
  std::string failover = "continue";  // continue | exact
  std::string cluster_token_file;
  std::map<std::string, HostConfig> hosts;

  const ModelConfig* FindModel(const std::string& name) const;
  // Address of a replica copy's leader. Copies are numbered over all replicas in file order:
  // port = base_port + that number * world. base_port 0: the caller assigns ports.
  Endpoint WorkerEndpoint(size_t replica, int32_t copy) const;
};

// `overrides` are "key.path=value" (list elements by index or by name: replicas.chat.count=1).
absl::StatusOr<ClusterConfig> ReadClusterConfig(const std::string& path,
                                                const std::vector<std::string>& overrides);

}  // namespace shoal::config
