// SPDX-License-Identifier: Apache-2.0
// The public gRPC service, with health checking and reflection.
#pragma once

#include <cstdint>
#include <memory>
#include <string>

#include "absl/status/statusor.h"
#include "absl/time/time.h"
#include "router/frontend/service.h"

namespace shoal::router {

// Thread-safe.
class GrpcServer {
 public:
  virtual ~GrpcServer() = default;  // Stop(0) first
  virtual int32_t port() const = 0;
  // What grpc.health.v1 says of the server and of shoal.v1.Inference.
  virtual void SetServing(bool serving) = 0;
  // Running calls may finish until `grace` has passed. Idempotent.
  virtual void Stop(absl::Duration grace) = 0;
};

// `service` outlives the server. UNAVAILABLE when the address cannot be listened on.
absl::StatusOr<std::unique_ptr<GrpcServer>> StartGrpcServer(const std::string& host, int32_t port,
                                                            Service* service);

}  // namespace shoal::router
