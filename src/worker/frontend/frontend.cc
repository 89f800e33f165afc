// SPDX-License-Identifier: Apache-2.0
#include "worker/frontend/frontend.h"

#include <grpcpp/ext/proto_server_reflection_plugin.h>
#include <grpcpp/health_check_service_interface.h>

#include <algorithm>
#include <utility>

#include "absl/strings/str_cat.h"
#include "base/check.h"
#include "base/random.h"
#include "worker/frontend/cluster_token.h"
#include "worker/frontend/convert.h"
#include "worker/frontend/router_stream.h"

namespace shoal::worker {
namespace {

using Reactor = grpc::ServerBidiReactor<v1::RouterMessage, v1::WorkerMessage>;

// Ends a call that is not admitted.
class RefusedCall final : public Reactor {
 public:
  explicit RefusedCall(const grpc::Status& status) { Finish(status); }
  void OnDone() override { delete this; }
};

void SetServerOptions(grpc::ServerBuilder& builder) {
  builder.SetMaxReceiveMessageSize(kMessageBytesMax);
  builder.SetMaxSendMessageSize(kMessageBytesMax);
  // A second worker on the same port is a mistake, not load balancing.
  builder.AddChannelArgument(GRPC_ARG_ALLOW_REUSEPORT, 0);
  // Routers ping as often as they like, also while nothing runs; and dead ones are noticed.
  builder.AddChannelArgument(GRPC_ARG_KEEPALIVE_TIME_MS, 30'000);
  builder.AddChannelArgument(GRPC_ARG_KEEPALIVE_TIMEOUT_MS, 20'000);
  builder.AddChannelArgument(GRPC_ARG_KEEPALIVE_PERMIT_WITHOUT_CALLS, 1);
  builder.AddChannelArgument(GRPC_ARG_HTTP2_MIN_RECV_PING_INTERVAL_WITHOUT_DATA_MS, 1'000);
  builder.AddChannelArgument(GRPC_ARG_HTTP2_MAX_PING_STRIKES, 0);
  // Nothing that unpacks to a thousand times its size.
  builder.SetCompressionAlgorithmSupportStatus(GRPC_COMPRESS_DEFLATE, false);
  builder.SetCompressionAlgorithmSupportStatus(GRPC_COMPRESS_GZIP, false);
}

}  // namespace

Frontend::Frontend(FrontendOptions options, Engine& engine, const Clock& clock)
    : options_(std::move(options)),
      engine_(engine),
      clock_(clock),
      registry_(options_.limits.streams_max) {}

Frontend::~Frontend() { Stop(); }

absl::Status Frontend::Start() {
  SHOAL_CHECK(server_ == nullptr);
  grpc::EnableDefaultHealthCheckService(true);
  grpc::reflection::InitProtoReflectionServerBuilderPlugin();
  grpc::ServerBuilder builder;
  SetServerOptions(builder);
  int port = 0;
  builder.AddListeningPort(options_.listen.ToString(), grpc::InsecureServerCredentials(), &port);
  builder.RegisterService(this);
  server_ = builder.BuildAndStart();
  if (server_ == nullptr || port == 0) {
    return absl::UnavailableError(absl::StrCat("cannot listen on ", options_.listen.ToString(),
                                               ": is the port taken? ports.base moves it"));
  }
  endpoint_ = {.host = options_.listen.host, .port = port};
  reporter_ = std::thread([this] { ReportLoads(); });
  return absl::OkStatus();
}

bool Frontend::Flush(absl::Duration timeout) const {
  const absl::Time end = clock_.Now() + timeout;
  for (const std::shared_ptr<RouterStream>& stream : registry_.All()) {
    if (!stream->AwaitFlushed(std::max(end - clock_.Now(), absl::ZeroDuration()))) return false;
  }
  return true;
}

void Frontend::Stop() {
  registry_.Stop();
  if (reporter_.joinable()) reporter_.join();
  if (server_ == nullptr) return;
  for (const std::shared_ptr<RouterStream>& stream : registry_.All()) {
    stream->Close(absl::UnavailableError("the worker is shutting down"));
  }
  // Calls that do not end by themselves are cancelled then.
  constexpr absl::Duration kGrace = absl::Milliseconds(500);
  server_->Shutdown(absl::ToChronoTime(absl::Now() + kGrace));
  server_->Wait();
  server_.reset();
}

void Frontend::Deliver(StreamId stream, std::vector<EngineDelta> deltas) {
  const std::shared_ptr<RouterStream> target = registry_.Find(stream);
  if (target != nullptr) target->Deliver(std::move(deltas));
}

void Frontend::OnConditionChanged() { registry_.Wake(/*force_loads=*/true); }

Reactor* Frontend::Serve(grpc::CallbackServerContext* call) {
  const grpc::Status admitted = Admit(*call);
  if (!admitted.ok()) return new RefusedCall(admitted);
  const StreamContext context{.engine = engine_,
                              .registry = registry_,
                              .identity = options_.identity,
                              .limits = options_.limits,
                              .clock = clock_,
                              .next_sequence = next_sequence_};
  const StreamId id(next_stream_.fetch_add(1));
  const auto stream = std::make_shared<RouterStream>(context, id, call);
  if (!registry_.Add(id, stream)) {
    return new RefusedCall(
        grpc::Status(grpc::StatusCode::RESOURCE_EXHAUSTED, "too many router streams are open"));
  }
  stream->Begin();
  return stream.get();
}

grpc::Status Frontend::Admit(const grpc::CallbackServerContext& call) const {
  if (options_.cluster_token.empty()) return grpc::Status::OK;
  const auto it = call.client_metadata().find(kClusterTokenKey);
  const bool given = it != call.client_metadata().end();
  const absl::string_view token =
      given ? absl::string_view(it->second.data(), it->second.size()) : absl::string_view();
  if (given && ConstantTimeEqual(options_.cluster_token, token)) return grpc::Status::OK;
  return grpc::Status(
      grpc::StatusCode::UNAUTHENTICATED,
      given ? "the cluster token does not match" : "the metadata lacks shoal-cluster-token");
}

void Frontend::ReportLoads() {
  absl::Time next = absl::InfinitePast();
  while (true) {
    const StreamRegistry::Woken woken = registry_.Await(next - clock_.Now());
    if (woken.stopped) return;
    const absl::Time now = clock_.Now();
    const EngineLoad load = engine_.load();
    const absl::Duration stalled = load.StalledFor(now);
    const LoadTimes times{.oldest_waiting = load.OldestWaiting(now), .stalled = stalled};
    const v1::Load message = ToLoad(load, times, options_.identity.incarnation);
    SetHealth(load, stalled);
    next = now + absl::Seconds(1);  // health is looked after without routers, too
    for (const std::shared_ptr<RouterStream>& stream : registry_.All()) {
      next = std::min(next, stream->Tick(now, message, woken.force_loads));
    }
  }
}

void Frontend::SetHealth(const EngineLoad& load, absl::Duration stalled) {
  grpc::HealthCheckServiceInterface* health = server_->GetHealthCheckService();
  if (health == nullptr) return;
  health->SetServingStatus(load.failure.ok() && !load.draining &&
                           stalled < options_.limits.stalled_after);
}

}  // namespace shoal::worker
