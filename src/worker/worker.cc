// SPDX-License-Identifier: Apache-2.0
#include "worker/worker.h"

#include <algorithm>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "base/log.h"
#include "base/random.h"
#include "base/status.h"
#include "kernels/backend.h"
#include "model/decoder.h"
#include "parallel/communicator.h"
#include "parallel/topology.h"
#include "scheduler/scheduler.h"
#include "worker/engine/engine.h"
#include "worker/engine/monotonic_clock.h"
#include "worker/executor/local_executor.h"
#include "worker/frontend/frontend.h"
#include "worker/kv/kv_cache.h"
#include "worker/memory_check.h"
#include "worker/profile.h"

namespace shoal::worker {
namespace {

// Everything one rank computes with, in order of creation: later members use earlier ones.
struct RankResources {
  std::unique_ptr<model::ModelFile> model;
  std::unique_ptr<kernels::Backend> backend;
  std::unique_ptr<kernels::Stream> stream;
  std::unique_ptr<parallel::Communicator> communicator;
  std::unique_ptr<model::Decoder> decoder;
  std::unique_ptr<KvCache> kv;
  model::NumericsOptions numerics;
  KvPlan kv_plan;
  int32_t max_context = 0;
};

absl::Status CheckLayout(const config::ReplicaConfig& replica) {
  const config::ParallelConfig& layout = replica.parallel;
  if (layout.tensor * layout.pipeline * layout.data == 1) return absl::OkStatus();
  return absl::InvalidArgumentError(absl::StrCat(
      "replicas.", replica.name, ".parallel: more than one rank is not available yet"));
}

absl::StatusOr<RankResources> LoadRank(const WorkerOptions& options) {
  RankResources rank;
  const config::ReplicaConfig& replica = options.replica;
  SHOAL_RETURN_IF_ERROR(CheckLayout(replica));
  SHOAL_ASSIGN_OR_RETURN(rank.model, model::OpenModel(options.model_path));
  SHOAL_ASSIGN_OR_RETURN(rank.max_context, ResolveContext(replica.engine, rank.model->spec()));
  SHOAL_ASSIGN_OR_RETURN(rank.numerics, ResolveNumerics(*rank.model, replica));
  SHOAL_ASSIGN_OR_RETURN(rank.backend, kernels::CreateBackend(replica.device));
  SHOAL_ASSIGN_OR_RETURN(rank.kv_plan,
                         PlanKv(rank.model->spec(), replica.engine, rank.numerics.kv_dtype));
  const model::DecoderOptions decoder{.numerics = rank.numerics,
                                      .max_batch_tokens = replica.engine.max_batch_tokens,
                                      .max_logits_rows = LogitsRowsMax(replica.engine)};
  SHOAL_ASSIGN_OR_RETURN(auto uses, rank.model->PlanMemory(*rank.backend, decoder));
  uses.emplace_back("KV cache", rank.kv_plan.bytes());
  SHOAL_RETURN_IF_ERROR(CheckMemory(uses, AvailableMemoryBytes()));
  if (rank.kv_plan.pool_tokens() < rank.max_context) {
    log::Warning(
        "engine.kv.memory holds {} tokens, less than engine.max_context {}: longer "
        "sequences end with reason length",
        rank.kv_plan.pool_tokens(), rank.max_context);
  }
  SHOAL_ASSIGN_OR_RETURN(rank.stream,
                         rank.backend->CreateStream({.threads = replica.threads_per_rank}));
  rank.communicator = parallel::CreateSingleRankCommunicator();
  SHOAL_ASSIGN_OR_RETURN(rank.decoder,
                         rank.model->CreateDecoder(*rank.backend, *rank.communicator, decoder));
  SHOAL_ASSIGN_OR_RETURN(rank.kv, KvCache::Create(*rank.backend, rank.kv_plan));
  return rank;
}

scheduler::SchedulerOptions ToSchedulerOptions(const config::EngineConfig& engine,
                                               const RankResources& rank,
                                               const std::string& fingerprint) {
  scheduler::SchedulerOptions options{
      .block_tokens = engine.kv.block_tokens,
      .groups = {},
      .max_context = rank.max_context,
      .max_batch_tokens = engine.max_batch_tokens,
      .max_logits_rows = LogitsRowsMax(engine),
      .max_sequences = engine.max_sequences,
      .max_waiting = engine.max_waiting,
      .plans_in_flight = engine.plans_in_flight,
      .prefix_cache = engine.prefix_cache,
      .weights_digest = absl::StrCat(rank.model->weights_digest(), "/", fingerprint),
      .priority_step = engine.priority_step};
  for (const KvGroupPlan& group : rank.kv_plan.groups) {
    options.groups.push_back({.window = group.window, .blocks = group.blocks});
  }
  return options;
}

FrontendOptions ToFrontendOptions(const WorkerOptions& options, const RankResources& rank,
                                  const std::string& fingerprint) {
  FrontendOptions frontend;
  frontend.identity = {.incarnation = RandomId(),
                       .model = options.model_name,
                       .weights_digest = rank.model->weights_digest(),
                       .system_fingerprint = fingerprint,
                       .max_context = rank.max_context,
                       .vocab_size = static_cast<int32_t>(rank.model->spec().vocab_size),
                       .block_tokens = options.replica.engine.kv.block_tokens,
                       .pool_tokens = rank.kv_plan.pool_tokens(),
                       .max_sequences = options.replica.engine.max_sequences};
  frontend.limits.request_deadline = options.deadlines.request;
  frontend.limits.stalled_after = options.deadlines.step;
  frontend.listen = options.listen;
  frontend.cluster_token = options.cluster_token;
  return frontend;
}

class WorkerImpl final : public Worker {
 public:
  static absl::StatusOr<std::unique_ptr<Worker>> Start(const WorkerOptions& options) {
    SHOAL_ASSIGN_OR_RETURN(RankResources rank, LoadRank(options));
    const std::string fingerprint =
        SystemFingerprint(rank.model->weights_digest(), options.replica.device, rank.numerics);
    const config::EngineConfig& engine = options.replica.engine;
    SHOAL_ASSIGN_OR_RETURN(
        std::unique_ptr<scheduler::Scheduler> scheduler,
        scheduler::CreateScheduler(ToSchedulerOptions(engine, rank, fingerprint)));
    std::unique_ptr<WorkerImpl> worker(
        new WorkerImpl(options, std::move(rank), std::move(scheduler), fingerprint));
    SHOAL_RETURN_IF_ERROR(worker->frontend_.Start());
    worker->engine_.Start(worker->frontend_);
    return worker;
  }

  ~WorkerImpl() override { Stop(); }

  config::Endpoint endpoint() const override { return frontend_.endpoint(); }

  int64_t steps() const override { return static_cast<int64_t>(engine_.load().steps); }

  absl::Status Drain(absl::Duration timeout) override {
    engine_.StartDrain();
    const absl::Status drained = engine_.AwaitDrained(timeout);
    // The last deltas are with the streams by now or are right behind; routers that do not take
    // them in time lose the stream.
    constexpr absl::Duration kFlush = absl::Seconds(2);
    engine_.Stop();
    frontend_.Flush(kFlush);
    Stop();
    return drained;
  }

  absl::Status AwaitFailure(absl::Duration timeout) override {
    return engine_.AwaitFailure(timeout);
  }

 private:
  WorkerImpl(const WorkerOptions& options, RankResources rank,
             std::unique_ptr<scheduler::Scheduler> scheduler, const std::string& fingerprint)
      : rank_(std::move(rank)),
        engine_({.submissions_max = static_cast<size_t>(options.replica.engine.max_waiting) +
                                    static_cast<size_t>(options.replica.engine.max_sequences),
                 .step_deadline = options.deadlines.step},
                std::move(scheduler), MakeExecutor(options), clock_),
        frontend_(ToFrontendOptions(options, rank_, fingerprint), engine_, clock_) {
    log::Info("model {} ({}), {}, {} KV blocks in {} groups, profile {}", options.model_name,
              rank_.model->spec().family, rank_.backend->Describe(),
              rank_.kv_plan.groups.front().blocks, rank_.kv_plan.groups.size(), fingerprint);
  }

  std::unique_ptr<Executor> MakeExecutor(const WorkerOptions& options) {
    const RankParts parts{.decoder = rank_.decoder.get(),
                          .sampling = &rank_.backend->sampling(),
                          .stream = rank_.stream.get(),
                          .pools = rank_.kv->pools()};
    // The plans in flight and a ping.
    const auto messages_max = static_cast<size_t>(options.replica.engine.plans_in_flight) + 1;
    return std::make_unique<LocalExecutor>(parts, messages_max);
  }

  void Stop() {
    engine_.Stop();
    frontend_.Stop();
  }

  const MonotonicClock clock_;
  RankResources rank_;
  Engine engine_;
  Frontend frontend_;
};

}  // namespace

absl::StatusOr<std::unique_ptr<Worker>> StartWorker(const WorkerOptions& options) {
  return WorkerImpl::Start(options);
}

}  // namespace shoal::worker
