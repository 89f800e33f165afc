// SPDX-License-Identifier: Apache-2.0
#include "router/metrics.h"

#include "absl/strings/str_cat.h"
#include "base/metrics.h"

namespace shoal::router {

using metrics::FirstTokenEdges;
using metrics::InterTokenEdges;
using metrics::Labels;
using metrics::RequestLatencyEdges;
using metrics::TokenCountEdges;

struct RouterMetrics::State {
  metrics::Registry registry;
  metrics::Histogram first_token = registry.GetHistogram(
      "vllm:time_to_first_token_seconds", "Arrival to first token.", FirstTokenEdges());
  metrics::Histogram inter_token = registry.GetHistogram(
      "vllm:inter_token_latency_seconds", "Time between tokens of one choice.", InterTokenEdges());
  metrics::Histogram latency = registry.GetHistogram("vllm:e2e_request_latency_seconds",
                                                     "Arrival to end.", RequestLatencyEdges());
  metrics::Histogram queued =
      registry.GetHistogram("vllm:request_queue_time_seconds",
                            "Arrival to the first look for a replica.", RequestLatencyEdges());
  metrics::Histogram prompt_size = registry.GetHistogram(
      "vllm:request_prompt_tokens", "Prompt tokens of a request.", TokenCountEdges());
  metrics::Histogram completion_size = registry.GetHistogram(
      "vllm:request_generation_tokens", "Completion tokens of a request.", TokenCountEdges());
  metrics::Counter prompt_tokens =
      registry.GetCounter("vllm:prompt_tokens_total", "Prompt tokens of ended requests.");
  metrics::Counter generation_tokens =
      registry.GetCounter("vllm:generation_tokens_total", "Completion tokens of ended requests.");
  metrics::Counter cached_tokens = registry.GetCounter("vllm:prompt_tokens_cached_total",
                                                       "Prompt tokens served from prefix caches.");
  metrics::Counter retries = registry.GetCounter(
      "shoal_router_retries_total", "Sequences sent to another replica after a failure.");
  metrics::Counter late =
      registry.GetCounter("shoal_router_dropped_tokens_total",
                          "Tokens that came after the end of their sequence or attempt.");
  metrics::Counter lost = registry.GetCounter("shoal_router_replica_losses_total",
                                              "Replicas that were lost or stalled.");
  metrics::Counter lost_sequences = registry.GetCounter("shoal_router_interrupted_sequences_total",
                                                        "Sequences in flight on lost replicas.");
};

RouterMetrics::RouterMetrics() : state_(std::make_unique<State>()) {}
RouterMetrics::~RouterMetrics() = default;

void RouterMetrics::OnAccepted(const RequestSpec& spec) {
  for (const auto& prompt : spec.prompts) {
    state_->prompt_size.Observe(static_cast<double>(prompt.size()));
  }
}

void RouterMetrics::OnStarted(absl::Duration queued) {
  state_->queued.Observe(absl::ToDoubleSeconds(queued));
}

void RouterMetrics::OnRouted(const std::string& replica) {
  state_->registry
      .GetCounter("shoal_router_selections_total", "Sequences given to a replica.",
                  Labels{{"replica", replica}})
      .Increment();
}

void RouterMetrics::OnFirstToken(absl::Duration since_arrival) {
  state_->first_token.Observe(absl::ToDoubleSeconds(since_arrival));
}

void RouterMetrics::OnNextTokens(absl::Duration each, int64_t count) {
  for (int64_t i = 0; i < count; ++i) state_->inter_token.Observe(absl::ToDoubleSeconds(each));
}

void RouterMetrics::OnEnd(const RequestSpec& spec, const EndEvent& end, absl::Time now) {
  state_->latency.Observe(absl::ToDoubleSeconds(now - spec.arrival));
  state_->completion_size.Observe(static_cast<double>(end.usage.completion_tokens));
  state_->prompt_tokens.Increment(static_cast<double>(end.usage.prompt_tokens));
  state_->generation_tokens.Increment(static_cast<double>(end.usage.completion_tokens));
  state_->cached_tokens.Increment(static_cast<double>(end.usage.cached_tokens));
  const std::string code = absl::StatusCodeToString(end.status.code());
  state_->registry
      .GetCounter("shoal_router_requests_ended_total", "Requests by how they ended.",
                  Labels{{"model", spec.model}, {"status", code}})
      .Increment();
  if (!end.status.ok()) return;
  state_->registry
      .GetCounter("vllm:request_success_total", "Requests that ended well.",
                  Labels{{"model_name", spec.model}})
      .Increment();
}

void RouterMetrics::OnRetries(int64_t count) {
  state_->retries.Increment(static_cast<double>(count));
}
void RouterMetrics::OnLateTokens(int64_t count) {
  state_->late.Increment(static_cast<double>(count));
}
void RouterMetrics::OnReplicaLost(int64_t sequences) {
  state_->lost.Increment();
  state_->lost_sequences.Increment(static_cast<double>(sequences));
}

void RouterMetrics::OnHttp(const std::string& route, int status) {
  state_->registry
      .GetCounter("shoal_router_http_requests_total", "HTTP answers.",
                  Labels{{"route", route}, {"status", absl::StrCat(status)}})
      .Increment();
}

std::string RouterMetrics::Expose(const FleetSnapshot& fleet, const Gauges& gauges) {
  metrics::Registry& registry = state_->registry;
  auto set = [&registry](const char* name, const char* help, const Labels& labels, double value) {
    registry.GetGauge(name, help, labels).Set(value);
  };
  for (const ReplicaView& r : fleet.replicas) {
    const Labels labels{{"model_name", r.model}, {"engine", r.name}};
    set("vllm:num_requests_running", "Sequences running.", labels, static_cast<double>(r.running));
    set("vllm:num_requests_waiting", "Sequences waiting.", labels, static_cast<double>(r.waiting));
    const double total = static_cast<double>(r.blocks_total);
    const double use = total > 0 ? 1.0 - static_cast<double>(r.blocks_free) / total : 0.0;
    set("vllm:kv_cache_usage_perc", "Share of KV blocks in use, 0 to 1.", labels, use);
    set("shoal_replica_steps", "Steps executed by the replica.", labels,
        static_cast<double>(r.steps));
    set("shoal_replica_preemptions", "Preemptions at the replica since its start.", labels,
        static_cast<double>(r.preemptions));
    set("shoal_replica_prefix_query_tokens", "Prompt tokens looked up in the prefix cache.", labels,
        static_cast<double>(r.prefix_query_tokens));
    set("shoal_replica_prefix_hit_tokens", "Prompt tokens found in the prefix cache.", labels,
        static_cast<double>(r.prefix_hit_tokens));
    set("shoal_router_inflight_sequences", "Sequences this router has at the replica.", labels,
        static_cast<double>(r.inflight));
    set("shoal_replica_ready", "1 while the replica takes new sequences.", labels,
        r.health == ReplicaHealth::kReady ? 1 : 0);
  }
  set("shoal_router_requests_held", "Requests admitted and not yet ended.", {},
      static_cast<double>(gauges.held));
  set("shoal_router_requests_accepted", "Requests accepted since the start.", {},
      static_cast<double>(gauges.accepted));
  set("shoal_router_requests_ended", "Requests ended since the start; equal at rest.", {},
      static_cast<double>(gauges.ended));
  return registry.Text();
}

}  // namespace shoal::router
