// SPDX-License-Identifier: Apache-2.0
#include "router/frontend/grpc/inference_service.h"

#include <grpcpp/ext/proto_server_reflection_plugin.h>
#include <grpcpp/grpcpp.h>
#include <grpcpp/health_check_service_interface.h>

#include <atomic>
#include <functional>
#include <memory>
#include <utility>

#include "absl/strings/str_cat.h"
#include "absl/time/clock.h"
#include "base/mutex.h"
#include "grpc/health/v1/health.pb.h"
#include "router/api_error.h"
#include "router/frontend/grpc/convert.h"
#include "router/frontend/grpc/generate_stream.h"
#include "shoal/v1/inference.grpc.pb.h"

namespace shoal::router {
namespace {

constexpr char kServiceName[] = "shoal.v1.Inference";

class InferenceService final : public v1::Inference::CallbackService {
 public:
  explicit InferenceService(router::Service* service) : service_(*service) {}

  grpc::ServerWriteReactor<v1::GenerateResponse>* Generate(
      grpc::CallbackServerContext* context, const v1::GenerateRequest* request) override {
    absl::StatusOr<GenerationRequest> parsed = Authorize(context);
    if (parsed.ok()) parsed = FromProto(*request);
    return GenerateStream::Start(&service_, context, std::move(parsed), request->ByteSizeLong());
  }

  grpc::ServerWriteReactor<v1::GenerateResponse>* Chat(grpc::CallbackServerContext* context,
                                                       const v1::ChatRequest* request) override {
    absl::StatusOr<GenerationRequest> parsed = Authorize(context);
    if (parsed.ok()) parsed = FromProto(*request);
    return GenerateStream::Start(&service_, context, std::move(parsed), request->ByteSizeLong());
  }

  grpc::ServerUnaryReactor* Tokenize(grpc::CallbackServerContext* context,
                                     const v1::TokenizeRequest* request,
                                     v1::TokenizeResponse* response) override {
    return OnPool(context, request->ByteSizeLong(),
                  [this, request, response] { return DoTokenize(*request, response); });
  }

  grpc::ServerUnaryReactor* Detokenize(grpc::CallbackServerContext* context,
                                       const v1::DetokenizeRequest* request,
                                       v1::DetokenizeResponse* response) override {
    return OnPool(context, request->ByteSizeLong(),
                  [this, request, response] { return DoDetokenize(*request, response); });
  }

  grpc::ServerUnaryReactor* ListModels(grpc::CallbackServerContext* context,
                                       const v1::ListModelsRequest*,
                                       v1::ListModelsResponse* response) override {
    return Now(context, [this, response] {
      for (const ServedModel& model : service_.options.models) {
        v1::Model* out = response->add_models();
        out->set_name(model.name);
        out->set_context(service_.ContextOf(model.name));
      }
    });
  }

  grpc::ServerUnaryReactor* GetClusterState(grpc::CallbackServerContext* context,
                                            const v1::GetClusterStateRequest*,
                                            v1::GetClusterStateResponse* response) override {
    return Now(context, [this, response] {
      response->set_cluster(service_.options.cluster);
      const std::shared_ptr<const FleetSnapshot> fleet = service_.dispatcher.snapshot();
      for (const ReplicaView& replica : fleet->replicas) {
        *response->add_replicas() = ToProto(replica);
      }
      // Ended first: it never exceeds what was accepted before it.
      response->set_requests_ended(service_.dispatcher.ended());
      response->set_requests_accepted(service_.dispatcher.accepted());
    });
  }

 private:
  // An empty request, or why the caller may not.
  absl::StatusOr<GenerationRequest> Authorize(grpc::CallbackServerContext* context) const {
    const auto& metadata = context->client_metadata();
    const auto it = metadata.find("authorization");
    const absl::string_view value = it == metadata.end()
                                        ? absl::string_view()
                                        : absl::string_view(it->second.data(), it->second.size());
    if (service_.options.keys.Allows(value)) return GenerationRequest();
    return absl::UnauthenticatedError("a valid API key is needed: authorization: Bearer KEY");
  }

  grpc::ServerUnaryReactor* Now(grpc::CallbackServerContext* context,
                                const std::function<void()>& fill) const {
    grpc::ServerUnaryReactor* reactor = context->DefaultReactor();
    const absl::Status allowed = Authorize(context).status();
    if (allowed.ok()) fill();
    reactor->Finish(ToGrpc(allowed));
    return reactor;
  }

  grpc::ServerUnaryReactor* OnPool(grpc::CallbackServerContext* context, size_t bytes,
                                   std::function<absl::Status()> work) {
    grpc::ServerUnaryReactor* reactor = context->DefaultReactor();
    absl::Status allowed = Authorize(context).status();
    if (allowed.ok()) {
      const bool taken = service_.pool.TrySubmit(
          static_cast<int64_t>(bytes) + 1,
          [reactor, work = std::move(work)] { reactor->Finish(ToGrpc(work())); });
      if (taken) return reactor;
      allowed = absl::ResourceExhaustedError("the router is full; try again in a moment");
    }
    reactor->Finish(ToGrpc(allowed));
    return reactor;
  }

  absl::Status DoTokenize(const v1::TokenizeRequest& request, v1::TokenizeResponse* response) {
    const auto model = FindModel(service_.options.models, request.model());
    if (!model.ok()) return model.status();
    absl::StatusOr<std::vector<int32_t>> tokens = BadParam("input", "text or messages is required");
    if (request.input_case() == v1::TokenizeRequest::kText) {
      text::EncodeOptions options;
      options.add_special_tokens = !request.skip_special_tokens();
      tokens = (*model)->tokenizer->Encode(request.text(), options);
    } else if (request.input_case() == v1::TokenizeRequest::kMessages) {
      tokens = RenderChat(**model, MessagesJson(request.messages().messages()),
                          nlohmann::ordered_json::object(), true, absl::Now());
    }
    if (!tokens.ok()) return tokens.status();
    response->mutable_token_ids()->Add(tokens->begin(), tokens->end());
    return absl::OkStatus();
  }

  absl::Status DoDetokenize(const v1::DetokenizeRequest& request,
                            v1::DetokenizeResponse* response) {
    const auto model = FindModel(service_.options.models, request.model());
    if (!model.ok()) return model.status();
    const int32_t vocab = (*model)->tokenizer->vocab_size();
    for (const int32_t id : request.token_ids()) {
      if (id >= 0 && id < vocab) continue;
      return BadParam("token_ids", absl::StrCat("id ", id, " is outside [0, ", vocab, ")"));
    }
    response->set_text((*model)->tokenizer->Decode(
        std::vector<int32_t>(request.token_ids().begin(), request.token_ids().end()),
        request.skip_special_tokens()));
    return absl::OkStatus();
  }

  router::Service& service_;  // not v1::Inference::Service
};

class Server final : public GrpcServer {
 public:
  explicit Server(Service* service) : inference_(service) {}
  ~Server() override { Stop(absl::ZeroDuration()); }

  absl::Status Listen(const std::string& host, int32_t port, int64_t body_bytes_max) {
    grpc::EnableDefaultHealthCheckService(true);
    grpc::reflection::InitProtoReflectionServerBuilderPlugin();
    // Links the health protocol's description in, so that reflection can show it.
    grpc::health::v1::HealthCheckRequest::descriptor();
    grpc::ServerBuilder builder;
    builder.AddListeningPort(absl::StrCat(host, ":", port), grpc::InsecureServerCredentials(),
                             &port_);
    builder.RegisterService(&inference_);
    builder.SetMaxReceiveMessageSize(static_cast<int>(body_bytes_max));
    builder.SetMaxSendMessageSize(-1);
    builder.AddChannelArgument(GRPC_ARG_ALLOW_REUSEPORT, 0);
    builder.AddChannelArgument(GRPC_ARG_HTTP2_MIN_RECV_PING_INTERVAL_WITHOUT_DATA_MS, 10'000);
    builder.AddChannelArgument(GRPC_ARG_KEEPALIVE_PERMIT_WITHOUT_CALLS, 1);
    // Clients whose machines have vanished are noticed.
    builder.AddChannelArgument(GRPC_ARG_KEEPALIVE_TIME_MS, 60'000);
    builder.AddChannelArgument(GRPC_ARG_KEEPALIVE_TIMEOUT_MS, 20'000);
    server_ = builder.BuildAndStart();
    if (server_ == nullptr || port_ == 0) {
      return absl::UnavailableError(
          absl::StrCat("router.grpc: cannot listen on ", host, ":", port));
    }
    SetServing(false);
    return absl::OkStatus();
  }

  int32_t port() const override { return port_; }

  void SetServing(bool serving) override {
    grpc::HealthCheckServiceInterface* health = server_->GetHealthCheckService();
    health->SetServingStatus(serving);
    health->SetServingStatus(kServiceName, serving);
  }

  void Stop(absl::Duration grace) override {
    MutexLock lock(&stop_mutex_);
    if (server_ == nullptr || stopped_) return;
    stopped_ = true;
    server_->Shutdown(absl::ToChronoTime(absl::Now() + grace));
    server_->Wait();
  }

 private:
  InferenceService inference_;
  std::unique_ptr<grpc::Server> server_;
  int port_ = 0;
  Mutex stop_mutex_;
  bool stopped_ = false;
};

}  // namespace

absl::StatusOr<std::unique_ptr<GrpcServer>> StartGrpcServer(const std::string& host, int32_t port,
                                                            Service* service) {
  auto server = std::make_unique<Server>(service);
  absl::Status status = server->Listen(host, port, service->options.body_bytes_max);
  if (!status.ok()) return status;
  return server;
}

}  // namespace shoal::router
