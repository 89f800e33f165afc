// SPDX-License-Identifier: Apache-2.0
// Router: OpenAI HTTP and gRPC front ends over a fleet of replicas.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/time/time.h"
#include "base/config/cluster_config.h"

namespace shoal::router {

struct ReplicaAddress {
  std::string name;   // "chat/0"
  std::string model;  // the name clients use
  config::Endpoint endpoint;
};

struct RouterOptions {
  std::string cluster;
  std::string version;  // for /version
  config::RouterConfig router;
  config::DeadlineConfig deadlines;
  std::string failover;
  std::vector<config::ModelConfig> models;
  std::vector<ReplicaAddress> replicas;
  std::string cluster_token;  // empty: none sent
};

// Thread-safe.
class Router {
 public:
  virtual ~Router() = default;  // stops without draining
  virtual config::Endpoint http_endpoint() const = 0;
  virtual config::Endpoint grpc_endpoint() const = 0;
  // True once every model has a ready replica.
  virtual bool ready() const = 0;
  // Changes, several times a second, as long as the threads that every request depends on turn.
  virtual int64_t progress() const = 0;
  // /ready turns 503, new requests are refused, running ones finish; then stops. OK when every
  // accepted request has ended.
  virtual absl::Status Drain(absl::Duration timeout) = 0;
};

// Loads tokenizers and templates, listens, and keeps connecting to the replicas.
absl::StatusOr<std::unique_ptr<Router>> StartRouter(const RouterOptions& options);

}  // namespace shoal::router
