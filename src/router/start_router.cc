// SPDX-License-Identifier: Apache-2.0
#include "router/start_router.h"

#include <algorithm>
#include <atomic>
#include <utility>

#include "absl/strings/str_cat.h"
#include "absl/time/clock.h"
#include "base/log.h"
#include "base/random.h"
#include "base/status.h"
#include "base/thread_pool.h"
#include "router/frontend/grpc/inference_service.h"
#include "router/frontend/openai/http_frontend.h"
#include "router/frontend/service.h"
#include "router/metrics.h"
#include "router/session/admission.h"
#include "router/session/dispatcher.h"

namespace shoal::router {
namespace {

// Answers that are complete may still be on their way to slow clients.
constexpr absl::Duration kFlushGrace = absl::Seconds(2);

absl::StatusOr<FleetOptions> FleetFrom(const RouterOptions& options, const ServedModels& models,
                                       const RouterTuning& tuning) {
  FleetOptions fleet;
  for (const ReplicaAddress& replica : options.replicas) {
    SHOAL_ASSIGN_OR_RETURN(const ServedModel* model, FindModel(models, replica.model));
    fleet.replicas.push_back({.name = replica.name,
                              .model = replica.model,
                              .address = replica.endpoint.ToString(),
                              .vocab_size = model->tokenizer->vocab_size()});
  }
  fleet.cluster_token = options.cluster_token;
  fleet.router_incarnation = RandomId();
  fleet.load_interval_ms = tuning.load_interval_ms;
  fleet.limits = tuning.health;
  const auto held = static_cast<size_t>(options.router.max_inflight) +
                    static_cast<size_t>(options.router.max_queue);
  fleet.queue_max = 1024 + 4 * held + static_cast<size_t>(kSequencesMax) * 16;
  return fleet;
}

class RouterImpl final : public Router {
 public:
  RouterImpl(const RouterOptions& options, const RouterTuning& tuning)
      : options_(options),
        tuning_(tuning),
        admission_(int64_t{options.router.max_inflight} + options.router.max_queue),
        pool_({.threads = std::max(1, options.router.threads),
               .queue_max = static_cast<size_t>(options.router.max_inflight) +
                            static_cast<size_t>(options.router.max_queue),
               .bytes_max = std::max(tuning.pool_bytes_max, 2 * options.router.max_body_bytes)}) {}

  ~RouterImpl() override { Shutdown(absl::ZeroDuration()); }

  absl::Status Start(ServedModels models) {
    SHOAL_ASSIGN_OR_RETURN(FleetOptions fleet, FleetFrom(options_, models, tuning_));
    DispatcherOptions dispatch;
    dispatch.fleet = std::move(fleet);
    dispatch.policy = options_.router.policy;
    dispatch.inflight_max = options_.router.max_inflight;
    dispatch.admitted_max = options_.router.max_inflight + options_.router.max_queue;
    dispatch.retry.window = options_.deadlines.first_token_retry;
    dispatch.retry.exact = options_.failover == "exact";
    dispatch.keep_alive = tuning_.keep_alive;
    dispatch.metrics = &metrics_;
    dispatch.on_snapshot = [this](const FleetSnapshot&) { UpdateHealth(); };
    ServiceOptions service;
    service.cluster = options_.cluster;
    service.version = options_.version;
    service.models = std::move(models);
    service.cors_origins = options_.router.cors_origins;
    service.request_deadline = options_.deadlines.request;
    service.body_bytes_max = options_.router.max_body_bytes;
    service.client_buffer_max = tuning_.client_buffer_max;
    service.write_stall = tuning_.connection.write_stall;
    service.started = absl::Now();
    if (!options_.router.api_keys_file.empty()) {
      SHOAL_ASSIGN_OR_RETURN(service.keys, ApiKeys::Load(options_.router.api_keys_file));
    }
    SHOAL_ASSIGN_OR_RETURN(dispatcher_, Dispatcher::Start(std::move(dispatch)));
    service_ = std::make_unique<Service>(
        std::move(service), Service::Parts{&admission_, &pool_, dispatcher_.get(), &metrics_});
    frontend_ = std::make_unique<HttpFrontend>(service_.get());
    return Listen();
  }

  config::Endpoint http_endpoint() const override {
    return {options_.router.http.host, http_->port()};
  }
  config::Endpoint grpc_endpoint() const override {
    return {options_.router.grpc.host, grpc_->port()};
  }
  bool ready() const override { return service_->Ready(); }

  // The older of the two last turns: it stands still when either thread does.
  int64_t progress() const override {
    return std::min(dispatcher_->last_turn_ns(), http_->last_turn_ns());
  }

  absl::Status Drain(absl::Duration timeout) override {
    admission_.Close();
    const bool empty = admission_.AwaitEmpty(timeout);
    const int64_t cut = admission_.held();
    Shutdown(kFlushGrace);
    if (!empty) {
      return absl::DeadlineExceededError(
          absl::StrCat(cut, " requests were still running after the drain time and were ended"));
    }
    if (dispatcher_->accepted() != dispatcher_->ended()) {
      return absl::InternalError(absl::StrCat(dispatcher_->accepted(), " requests accepted, ",
                                              dispatcher_->ended(), " ended"));
    }
    return absl::OkStatus();
  }

 private:
  absl::Status Listen() {
    HttpServerOptions http;
    http.host = options_.router.http.host;
    http.port = options_.router.http.port;
    http.connections_max = tuning_.connections_max;
    http.connection = tuning_.connection;
    http.connection.parser.body_bytes_max = static_cast<size_t>(options_.router.max_body_bytes);
    SHOAL_ASSIGN_OR_RETURN(http_, StartHttpServer(http, frontend_.get()));
    SHOAL_ASSIGN_OR_RETURN(grpc_, StartGrpcServer(options_.router.grpc.host,
                                                  options_.router.grpc.port, service_.get()));
    listening_.store(true);
    log::Info("listening: http {}, grpc {}", http_endpoint().ToString(),
              grpc_endpoint().ToString());
    return absl::OkStatus();
  }

  void UpdateHealth() {
    if (!listening_.load()) return;
    const bool serving = service_->Ready();
    if (std::exchange(told_serving_, serving) != serving) grpc_->SetServing(serving);
  }

  // Sessions end first, so that every client still gets its answer or its error.
  void Shutdown(absl::Duration grace) {
    admission_.Close();
    pool_.Stop();
    if (dispatcher_ != nullptr) dispatcher_->Stop();
    if (http_ != nullptr) http_->Stop(grace);
    if (grpc_ != nullptr) grpc_->Stop(grace);
  }

  const RouterOptions options_;
  const RouterTuning tuning_;
  RouterMetrics metrics_;
  Admission admission_;
  ThreadPool pool_;
  std::unique_ptr<Dispatcher> dispatcher_;
  std::unique_ptr<Service> service_;
  std::unique_ptr<HttpFrontend> frontend_;
  std::unique_ptr<HttpServer> http_;
  std::unique_ptr<GrpcServer> grpc_;
  std::atomic<bool> listening_{false};
  bool told_serving_ = false;  // the dispatcher thread's
};

}  // namespace

RouterTuning TuningFrom(const RouterOptions& options) {
  RouterTuning tuning;
  tuning.health.start = options.deadlines.start;
  tuning.health.step = options.deadlines.step;
  tuning.health.silence = std::clamp(options.deadlines.step, absl::Seconds(1), absl::Seconds(10));
  return tuning;
}

absl::StatusOr<std::unique_ptr<Router>> StartRouterWithModels(const RouterOptions& options,
                                                              ServedModels models,
                                                              const RouterTuning& tuning) {
  auto router = std::make_unique<RouterImpl>(options, tuning);
  SHOAL_RETURN_IF_ERROR(router->Start(std::move(models)));
  return router;
}

absl::StatusOr<std::unique_ptr<Router>> StartRouter(const RouterOptions& options) {
  ServedModels models;
  for (const config::ModelConfig& model : options.models) {
    SHOAL_ASSIGN_OR_RETURN(ServedModel served, LoadServedModel(model));
    models.push_back(std::move(served));
  }
  return StartRouterWithModels(options, std::move(models), TuningFrom(options));
}

}  // namespace shoal::router
