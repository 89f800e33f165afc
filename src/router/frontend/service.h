// SPDX-License-Identifier: Apache-2.0
// Service: what both front ends share: models, admission, the tokenizing pool, the dispatcher.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <string>

#include "absl/status/statusor.h"
#include "absl/time/time.h"
#include "base/thread_pool.h"
#include "router/frontend/api_keys.h"
#include "router/frontend/generation_request.h"
#include "router/frontend/served_model.h"
#include "router/metrics.h"
#include "router/session/admission.h"
#include "router/session/dispatcher.h"

namespace shoal::router {

struct ServiceOptions {
  std::string cluster;
  std::string version;
  ServedModels models;
  ApiKeys keys;
  std::vector<std::string> cors_origins;
  absl::Duration request_deadline = absl::Seconds(600);
  int64_t body_bytes_max = 8 << 20;
  absl::Duration write_stall = absl::Seconds(60);  // of a gRPC client that takes nothing
  size_t client_buffer_max = 1 << 20;  // bytes a client may lag behind before it is cancelled
  absl::Time started;
};

// Thread-safe. The members outlive it, and all requests.
class Service {
 public:
  struct Parts {
    Admission* admission;
    ThreadPool* pool;
    Dispatcher* dispatcher;
    RouterMetrics* metrics;
  };
  Service(ServiceOptions service_options, const Parts& parts)
      : options(std::move(service_options)),
        admission(*parts.admission),
        pool(*parts.pool),
        dispatcher(*parts.dispatcher),
        metrics(*parts.metrics) {}

  // Prepares on the calling (pool) thread and hands over to the dispatcher. On an error `sink` has
  // not been and will not be called. `make_sink` gets the prepared request.
  using MakeSink = std::function<std::shared_ptr<ClientSink>(const RequestSpec&)>;
  absl::Status Launch(uint64_t id, GenerationRequest request, AdmissionSlot slot,
                      const MakeSink& make_sink);

  // Every model has a ready replica, and the router is not shutting down.
  bool Ready() const;
  // Longest prompt plus completion of a model; 0 when no replica has told yet.
  int32_t ContextOf(const std::string& model) const;

  const ServiceOptions options;
  Admission& admission;
  ThreadPool& pool;
  Dispatcher& dispatcher;
  RouterMetrics& metrics;
};

}  // namespace shoal::router
