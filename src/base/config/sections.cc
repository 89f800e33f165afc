// SPDX-License-Identifier: Apache-2.0
#include "base/config/sections.h"

#include <string>

namespace shoal::config {
namespace {

constexpr int64_t kSchema = 1;
constexpr int64_t kRanksMax = 1024;
constexpr int64_t kThreadsMax = 256;
constexpr int64_t kQueueMax = int64_t{1} << 20;
constexpr int64_t kContextMax = int64_t{1} << 24;

IntegerRule OnlyOneYet() { return {.min = 1, .max = kRanksMax, .available_max = 1}; }

void BindModel(Binder& b, ModelConfig& model) {
  b.Text("name", model.name, {.kind = TextKind::kModelName},
         {.doc = "The name clients use.", .required = true});
  b.Text("path", model.path, {.kind = TextKind::kPath},
         {.doc = "A GGUF file or a Hugging Face directory.", .required = true});
  b.Text("chat_template", model.chat_template, {.kind = TextKind::kPath},
         {.doc = "A chat template file; without it the model's own is used."});
}

void BindKv(Binder& b, KvConfig& kv) {
  b.Integer("block_tokens", kv.block_tokens, {.min = 8, .max = 64},
            {.doc = "Tokens of one block of the KV cache: 8, 16, 32 or 64."});
  b.Bytes("memory", kv.memory_bytes, {.min = int64_t{1} << 10, .max = int64_t{1} << 50},
          {.doc = "Bytes of the KV cache of each rank."});
  b.Text("dtype", kv.dtype,
         {.choices = {"auto", "float32", "float16"}, .later = {"bfloat16", "float8"}},
         {.doc = "How keys and values are stored."});
}

void BindEngine(Binder& b, EngineConfig& engine) {
  b.Integer("max_context", engine.max_context, {.min = 0, .max = kContextMax, .auto_value = 0},
            {.doc = "Tokens of prompt and answer together; 0 or auto: what the model allows."});
  b.Integer("max_batch_tokens", engine.max_batch_tokens, {.min = 1, .max = kQueueMax},
            {.doc = "Tokens computed in one step."});
  b.Integer("max_sequences", engine.max_sequences, {.min = 1, .max = 65536},
            {.doc = "Sequences that run at once."});
  b.Integer("max_waiting", engine.max_waiting, {.min = 1, .max = kQueueMax},
            {.doc = "Sequences that wait for a place; further ones are refused."});
  b.Integer("plans_in_flight", engine.plans_in_flight, {.min = 1, .max = 8},
            {.doc = "Steps planned ahead of the results."});
  b.Bool("prefix_cache", engine.prefix_cache,
         {.doc = "Whether prompts with an equal beginning share its KV blocks."});
  b.Duration("priority_step", engine.priority_step,
             {.min = absl::Milliseconds(1), .max = absl::Hours(24)},
             {.doc = "Waiting this long raises a request's priority by one."});
  b.Object("kv", {.doc = "The KV cache."}, [&](Binder& inner) { BindKv(inner, engine.kv); });
}

void BindNumerics(Binder& b, NumericsConfig& numerics) {
  b.Text("mode", numerics.mode, {.choices = {"exact"}, .later = {"fast"}},
         {.doc = "exact: the same bits whatever the batch and the number of ranks."});
  b.Integer("shards", numerics.shards, {.min = 1, .max = 256, .auto_value = 0},
            {.doc = "Leaves of a sum over ranks; auto: 24 on cpu."});
  b.Text("activation", numerics.activation, {.choices = {"auto", "float32", "int8"}},
         {.doc = "What activations become before they meet block-quantised weights."});
}

void BindParallel(Binder& b, ParallelConfig& parallel) {
  b.Integer("tensor", parallel.tensor, OnlyOneYet(), {.doc = "Ranks that share each matrix."});
  b.Integer("pipeline", parallel.pipeline, OnlyOneYet(), {.doc = "Stages of layers."});
  b.Integer("data", parallel.data, OnlyOneYet(), {.doc = "Groups with requests of their own."});
}

void BindReplica(Binder& b, ReplicaConfig& replica) {
  b.Text("name", replica.name, {.kind = TextKind::kName},
         {.doc = "Names the replica in logs, metrics and --set.", .required = true});
  b.Text("model", replica.model, {.kind = TextKind::kModelName},
         {.doc = "The name of one of `models`.", .required = true});
  b.Integer("count", replica.count, {.min = 1, .max = kRanksMax}, {.doc = "Copies."});
  b.Text("role", replica.role, {.choices = {"unified"}, .later = {"prefill", "decode"}},
         {.doc = "Which part of a request it computes."});
  b.Text("device", replica.device, {.choices = {"cpu"}, .later = {"cuda"}},
         {.doc = "What it computes on."});
  b.Object("parallel", {.doc = "How one copy is spread over ranks."},
           [&](Binder& inner) { BindParallel(inner, replica.parallel); });
  b.TextList("hosts", replica.hosts, {.kind = TextKind::kAddress},
             {.doc = "Where the ranks run, in order."});
  b.Integer("ranks_per_host", replica.ranks_per_host,
            {.min = 0, .max = kRanksMax, .available_max = 1},
            {.doc = "Ranks placed on each host; 0: all on the first."});
  b.Integer("threads_per_rank", replica.threads_per_rank, {.min = 1, .max = kThreadsMax},
            {.doc = "Compute threads of each rank."});
  b.Object("engine", {.doc = "Overrides of the cluster-wide `engine`."},
           [&](Binder& inner) { BindEngine(inner, replica.engine); });
  b.Object("numerics", {.doc = "Overrides of the cluster-wide `numerics`."},
           [&](Binder& inner) { BindNumerics(inner, replica.numerics); });
}

void BindRouter(Binder& b, RouterConfig& router) {
  b.Address("http", router.http, {.doc = "Where the OpenAI HTTP API listens."});
  b.Address("grpc", router.grpc, {.doc = "Where the gRPC API listens."});
  b.Text("policy", router.policy,
         {.choices = {"round-robin", "least-work"},
          .later = {"power-of-two", "prefix-aware", "consistent-hash"}},
         {.doc = "How a replica is chosen."});
  b.Integer("max_inflight", router.max_inflight, {.min = 1, .max = kQueueMax},
            {.doc = "Requests being answered at once."});
  b.Integer("max_queue", router.max_queue, {.min = 0, .max = kQueueMax},
            {.doc = "Requests waiting for a replica; further ones are refused."});
  b.Bytes("max_body_bytes", router.max_body_bytes,
          {.min = int64_t{1} << 10, .max = int64_t{1} << 30}, {.doc = "Size of a request."});
  b.Text("api_keys_file", router.api_keys_file, {.kind = TextKind::kPath},
         {.doc = "A file with one API key a line; without it none is needed."});
  b.TextList("cors_origins", router.cors_origins, {},
             {.doc = "Origins whose web pages may call the HTTP API: \"*\" or scheme://host."});
  b.Integer("threads", router.threads, {.min = 1, .max = kThreadsMax},
            {.doc = "Threads for HTTP, and as many for tokenizing and rendering."});
}

void BindDeadlines(Binder& b, DeadlineConfig& deadlines) {
  const DurationRule rule = {.min = absl::Milliseconds(1), .max = absl::Hours(24)};
  b.Duration("step", deadlines.step, rule,
             {.doc = "A replica with work but no step for this long has stalled."});
  // An idle worker's self-checks are a second apart.
  b.Duration("hang", deadlines.hang, {.min = absl::Seconds(3), .max = absl::Hours(24)},
             {.doc = "serve kills and restarts a process that makes no progress for this long; "
                     "at least `deadlines.step`."});
  b.Duration("start", deadlines.start, rule, {.doc = "A replica must be ready by then."});
  b.Duration("request", deadlines.request, rule,
             {.doc = "The deadline of a request that brings none."});
  b.Duration("first_token_retry", deadlines.first_token_retry, rule,
             {.doc = "How long a request without a first token is retried."});
}

void BindHost(Binder& b, HostConfig& host) {
  b.Text("interface", host.interface, {.kind = TextKind::kAddress},
         {.doc = "The address that internal ports listen on; default: loopback."});
  b.Text("log", host.log, {.kind = TextKind::kPath},
         {.doc = "The folder of log files; without it logs go to standard error."});
  b.Later("path", {.doc = "Where this host keeps the models."});
  b.Later("ports", {.doc = "This host's internal ports."});
  b.Later("threads", {.doc = "This host's compute threads."});
}

void BindReplicas(Binder& b, ClusterConfig& config) {
  ReplicaConfig defaults;
  b.Object("engine", {.doc = "What the engine of every replica may use."},
           [&](Binder& inner) { BindEngine(inner, defaults.engine); });
  b.Object("numerics", {.doc = "Which bits come out."},
           [&](Binder& inner) { BindNumerics(inner, defaults.numerics); });
  b.List("replicas", {.doc = "Complete copies of a model.", .required = true},
         [&](Binder& inner) { BindReplica(inner, config.replicas.emplace_back(defaults)); });
}

}  // namespace

void BindCluster(Binder& b, ClusterConfig& config) {
  int32_t schema = kSchema;
  b.Integer("schema", schema, {.min = kSchema, .max = kSchema},
            {.doc = "The version of this file's keys: 1.", .required = true});
  b.Text("cluster", config.cluster, {.kind = TextKind::kName},
         {.doc = "Names the cluster in logs and metrics.", .required = true});
  b.List("models", {.doc = "The models served.", .required = true},
         [&](Binder& inner) { BindModel(inner, config.models.emplace_back()); });
  b.Object("router", {.doc = "The process that clients talk to."},
           [&](Binder& inner) { BindRouter(inner, config.router); });
  BindReplicas(b, config);
  b.Object("ports", {.doc = "Internal ports."}, [&](Binder& inner) {
    inner.Integer("base", config.base_port, {.min = 0, .max = 65535},
                  {.doc = "The first port of the workers, one a rank; 0: the system chooses."});
  });
  b.Object("deadlines", {.doc = "How long things may take."},
           [&](Binder& inner) { BindDeadlines(inner, config.deadlines); });
  b.Integer("drain_seconds", config.drain_seconds, {.min = 0, .max = 86400},
            {.doc = "How long running requests may finish at a stop."});
  b.Text("failover", config.failover, {.choices = {"continue", "exact"}},
         {.doc = "Where no replica of equal numerics is left: continue on another, or end the "
                 "request with an error."});
  b.Text("cluster_token_file", config.cluster_token_file, {.kind = TextKind::kPath},
         {.doc = "The shared secret of internal ports; needed with several hosts."});
  b.Map("hosts", {.kind = TextKind::kAddress},
        {.doc = "What is particular to a host, by its name in `replicas`."},
        [&](const std::string& name, Binder& inner) { BindHost(inner, config.hosts[name]); });
}

}  // namespace shoal::config
