// SPDX-License-Identifier: Apache-2.0
#include "exactness/cluster.h"

#include <grpcpp/grpcpp.h>
#include <stdlib.h>

#include <algorithm>
#include <thread>

#include "absl/strings/str_cat.h"
#include "absl/time/clock.h"
#include "base/log.h"
#include "base/status.h"
#include "model/decoder.h"

namespace shoal::exactness {
namespace {

constexpr int32_t kBlockTokens = 16;
constexpr int32_t kSpareBlocks = 8;
constexpr int64_t kAmpleTokens = 40000;
constexpr absl::Duration kReady = absl::Seconds(30);
constexpr absl::Duration kReport = absl::Seconds(1);
constexpr absl::Duration kDrain = absl::Seconds(60);
constexpr auto kRequestDeadline = std::chrono::minutes(5);

absl::StatusOr<int64_t> PoolBytes(const ClusterModel& model, const Point& point) {
  SHOAL_ASSIGN_OR_RETURN(const auto file, model::OpenModel(model.path));
  // Half precision for block formats, else (and with float activations) single: the larger is
  // only generous where the pool is ample, so tight pools ask for the exact dtype.
  const int64_t element = model.activation == "float32" ? 4 : 2;
  const int64_t per_token = file->spec().KvBytesPerToken(element);
  const int64_t blocks = (model.length_max + kBlockTokens - 1) / kBlockTokens + kSpareBlocks;
  const int64_t tokens = point.tight_pool ? blocks * kBlockTokens : kAmpleTokens;
  return tokens * per_token;
}

absl::StatusOr<worker::WorkerOptions> MakeWorkerOptions(const ClusterModel& model,
                                                        const Point& point) {
  worker::WorkerOptions options;
  options.model_name = model.name;
  options.model_path = model.path;
  options.replica.name = "chat";
  options.replica.model = model.name;
  options.replica.threads_per_rank = point.threads;
  config::EngineConfig& engine = options.replica.engine;
  engine.max_context = model.length_max;
  engine.max_batch_tokens = point.budget;
  engine.max_sequences = std::min(64, point.budget);
  engine.plans_in_flight = point.plans_in_flight;
  engine.prefix_cache = point.prefix_cache;
  engine.kv.block_tokens = kBlockTokens;
  engine.kv.dtype = model.activation == "float32" ? "float32" : "float16";
  options.replica.numerics.activation = model.activation;
  SHOAL_ASSIGN_OR_RETURN(engine.kv.memory_bytes, PoolBytes(model, point));
  options.listen = {"127.0.0.1", 0};
  return options;
}

absl::Status AwaitReady(const router::Router& router) {
  for (const absl::Time deadline = absl::Now() + kReady; absl::Now() < deadline;) {
    if (router.ready()) return absl::OkStatus();
    absl::SleepFor(absl::Milliseconds(2));
  }
  return absl::DeadlineExceededError("the replicas did not become ready");
}

absl::Status RunOne(v1::Inference::Stub& stub, const v1::GenerateRequest& request, Answer& answer) {
  grpc::ClientContext context;
  context.set_deadline(std::chrono::system_clock::now() + kRequestDeadline);
  const auto reader = stub.Generate(&context, request);
  v1::GenerateResponse response;
  while (reader->Read(&response)) Accumulate(response, answer);
  const grpc::Status status = reader->Finish();
  if (!status.ok()) {
    return absl::Status(static_cast<absl::StatusCode>(status.error_code()), status.error_message());
  }
  return answer.finish != 0 ? absl::OkStatus() : absl::DataLossError("no finish reason");
}

}  // namespace

std::string Point::ToString() const {
  return absl::StrCat("isa=", isa.empty() ? "best" : isa, " threads=", threads, " budget=", budget,
                      " cache=", prefix_cache ? "on" : "off", " D=", plans_in_flight,
                      " pool=", tight_pool ? "tight" : "ample", " replicas=", replicas,
                      arrival == Arrival::kAlone ? " alone" : " together");
}

absl::StatusOr<std::unique_ptr<Cluster>> Cluster::Start(const ClusterModel& model,
                                                        const Point& point) {
  if (point.isa.empty()) {
    unsetenv("SHOAL_ISA");
  } else {
    setenv("SHOAL_ISA", point.isa.c_str(), 1);
  }
  log::Configure("exactness", log::Level::kError, "");
  std::unique_ptr<Cluster> cluster(new Cluster);
  router::RouterOptions options;
  options.cluster = "exactness";
  options.router.http = {"127.0.0.1", 0};
  options.router.grpc = {"127.0.0.1", 0};
  options.router.policy = "round-robin";
  options.models = {{.name = model.name, .path = model.path, .chat_template = ""}};
  for (int i = 0; i < point.replicas; ++i) {
    SHOAL_ASSIGN_OR_RETURN(const worker::WorkerOptions worker, MakeWorkerOptions(model, point));
    SHOAL_ASSIGN_OR_RETURN(auto started, worker::StartWorker(worker));
    options.replicas.push_back({absl::StrCat("chat/", i), model.name, started->endpoint()});
    cluster->workers_.push_back(std::move(started));
  }
  SHOAL_ASSIGN_OR_RETURN(cluster->router_, router::StartRouter(options));
  SHOAL_RETURN_IF_ERROR(AwaitReady(*cluster->router_));
  cluster->stub_ = v1::Inference::NewStub(grpc::CreateChannel(
      cluster->router_->grpc_endpoint().ToString(), grpc::InsecureChannelCredentials()));
  return cluster;
}

absl::StatusOr<std::vector<Answer>> Cluster::Run(const std::vector<v1::GenerateRequest>& requests,
                                                 Arrival arrival) {
  std::vector<Answer> answers(requests.size());
  std::vector<absl::Status> statuses(requests.size());
  if (arrival == Arrival::kAlone) {
    for (size_t i = 0; i < requests.size(); ++i) {
      statuses[i] = RunOne(*stub_, requests[i], answers[i]);
    }
  } else {
    std::vector<std::thread> threads;
    for (size_t i = 0; i < requests.size(); ++i) {
      threads.emplace_back([&, i] { statuses[i] = RunOne(*stub_, requests[i], answers[i]); });
    }
    for (std::thread& thread : threads) thread.join();
  }
  for (size_t i = 0; i < requests.size(); ++i) {
    SHOAL_RETURN_IF_ERROR(Annotate(statuses[i], absl::StrCat("request ", i)));
  }
  return answers;
}

bool Cluster::SawPreemption() {
  for (const absl::Time deadline = absl::Now() + kReport; absl::Now() < deadline;) {
    grpc::ClientContext context;
    v1::GetClusterStateResponse state;
    if (!stub_->GetClusterState(&context, v1::GetClusterStateRequest(), &state).ok()) return false;
    for (const v1::ReplicaState& replica : state.replicas()) {
      if (replica.preemptions() > 0) return true;
    }
    absl::SleepFor(absl::Milliseconds(10));
  }
  return false;
}

absl::Status Cluster::Stop() {
  SHOAL_RETURN_IF_ERROR(Annotate(router_->Drain(kDrain), "router"));
  for (const auto& worker : workers_) {
    SHOAL_RETURN_IF_ERROR(Annotate(worker->Drain(kDrain), "worker"));
  }
  return absl::OkStatus();
}

}  // namespace shoal::exactness
