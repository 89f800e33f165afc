// SPDX-License-Identifier: Apache-2.0
// HttpServer: a small HTTP/1.1 server: one thread, epoll, bounded buffers, every client's departure
// noticed while its request is being answered.
#pragma once

#include <cstdint>
#include <memory>
#include <string>

#include "absl/status/statusor.h"
#include "absl/time/time.h"
#include "router/frontend/http_server/connection.h"
#include "router/frontend/http_server/http_types.h"

namespace shoal::router {

struct HttpServerOptions {
  std::string host;
  int32_t port = 0;  // 0: chosen by the system
  // When full, a new connection takes the place of the one that has waited longest for a request.
  size_t connections_max = 4096;
  // What the system buffers for a client that does not read, beyond which the limits of
  // `connection` count. The system doubles it.
  int32_t send_buffer_bytes = 64 << 10;
  ConnectionLimits connection;
};

// Thread-safe.
class HttpServer {
 public:
  virtual ~HttpServer() = default;  // Stop(0) first
  virtual int32_t port() const = 0;
  // When its thread last turned; it does so every 100 ms at least.
  virtual int64_t last_turn_ns() const = 0;
  // No new connections; open exchanges may finish and be sent until `grace` has passed. Idempotent.
  virtual void Stop(absl::Duration grace) = 0;
};

// `handler` outlives the server.
absl::StatusOr<std::unique_ptr<HttpServer>> StartHttpServer(const HttpServerOptions& options,
                                                            HttpHandler* handler);

}  // namespace shoal::router
