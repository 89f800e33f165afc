// SPDX-License-Identifier: Apache-2.0
// Frontend: the gRPC server of a worker: shoal.v1.Worker, grpc.health.v1 and reflection.
#pragma once

#include <grpcpp/grpcpp.h>

#include <atomic>
#include <cstdint>
#include <memory>
#include <string>
#include <thread>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/time/time.h"
#include "base/clock.h"
#include "base/config/cluster_config.h"
#include "shoal/v1/worker.grpc.pb.h"
#include "worker/engine/engine.h"
#include "worker/frontend/limits.h"
#include "worker/frontend/stream_registry.h"

namespace shoal::worker {

struct FrontendOptions {
  WorkerIdentity identity;
  FrontendLimits limits;
  config::Endpoint listen;
  std::string cluster_token;  // empty: none required
};

// Thread-safe after Start. Start it before the engine, which it is the sink of; stop the engine
// before it is destroyed.
class Frontend final : public DeltaSink, private v1::Worker::CallbackService {
 public:
  Frontend(FrontendOptions options, Engine& engine, const Clock& clock);
  ~Frontend() override;

  // Listens. UNAVAILABLE names the address that cannot be had.
  absl::Status Start();
  // The address with its real port.
  config::Endpoint endpoint() const { return endpoint_; }
  // Waits until every stream has sent what is queued; false after `timeout`.
  bool Flush(absl::Duration timeout) const;
  // Ends all streams and the server. Safe to call twice.
  void Stop();

  void Deliver(StreamId stream, std::vector<EngineDelta> deltas) override;
  void OnConditionChanged() override;

 private:
  grpc::ServerBidiReactor<v1::RouterMessage, v1::WorkerMessage>* Serve(
      grpc::CallbackServerContext* call) override;
  // OK, or why the call is refused.
  grpc::Status Admit(const grpc::CallbackServerContext& call) const;
  void ReportLoads();
  void SetHealth(const EngineLoad& load, absl::Duration stalled);

  const FrontendOptions options_;
  Engine& engine_;
  const Clock& clock_;
  StreamRegistry registry_;
  std::atomic<uint64_t> next_stream_{1};
  std::atomic<uint64_t> next_sequence_{1};
  std::unique_ptr<grpc::Server> server_;
  config::Endpoint endpoint_;
  std::thread reporter_;
};

}  // namespace shoal::worker
