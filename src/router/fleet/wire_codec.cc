// SPDX-License-Identifier: Apache-2.0
#include "router/fleet/wire_codec.h"

#include <algorithm>
#include <limits>
#include <utility>

namespace shoal::router {
namespace {

scheduler::TokenOutput FromProto(const v1::TokenOutput& token) {
  scheduler::TokenOutput out;
  out.token = token.token();
  out.has_logprob = token.has_logprob();
  out.logprob = token.logprob();
  out.rank = token.rank();
  for (const v1::TopLogprob& top : token.top()) out.top.push_back({top.token(), top.logprob()});
  return out;
}

WireFinish FromProto(v1::Finish finish) {
  switch (finish) {
    case v1::FINISH_NONE:
      return WireFinish::kNone;
    case v1::FINISH_STOP:
      return WireFinish::kStop;
    case v1::FINISH_LENGTH:
      return WireFinish::kLength;
    case v1::FINISH_CANCELLED:
      return WireFinish::kCancelled;
    case v1::FINISH_DEADLINE:
      return WireFinish::kDeadline;
    default:
      return WireFinish::kError;  // FINISH_ERROR, or one of a later protocol
  }
}

absl::Status ErrorOf(const v1::SequenceDelta& delta) {
  const int code = delta.error_code();
  if (code <= 0 || code > static_cast<int>(absl::StatusCode::kUnauthenticated)) {
    return absl::InternalError(delta.error());
  }
  return absl::Status(static_cast<absl::StatusCode>(code), delta.error());
}

SequenceDeltaValue FromProto(const v1::SequenceDelta& delta) {
  SequenceDeltaValue value;
  value.wire_id = delta.sequence();
  value.attempt = delta.attempt();
  for (const v1::TokenOutput& token : delta.tokens()) value.tokens.push_back(FromProto(token));
  for (const v1::TokenOutput& token : delta.prompt()) value.prompt.push_back(FromProto(token));
  value.finish = FromProto(delta.finish());
  if (value.finish == WireFinish::kError) value.error = ErrorOf(delta);
  value.rejected = delta.rejected();
  value.cached_tokens = delta.cached_tokens();
  return value;
}

WelcomeValue FromProto(const v1::Welcome& welcome) {
  return {.protocol = welcome.protocol(),
          .incarnation = welcome.incarnation(),
          .model = welcome.model(),
          .weights_digest = welcome.weights_digest(),
          .fingerprint = welcome.system_fingerprint(),
          .max_context = welcome.max_context(),
          .vocab_size = welcome.vocab_size(),
          .pool_tokens = welcome.pool_tokens()};
}

LoadValue FromProto(const v1::Load& load) {
  constexpr uint64_t kMax = std::numeric_limits<int64_t>::max();
  return {.incarnation = load.incarnation(),
          .steps = static_cast<int64_t>(std::min(load.steps(), kMax)),
          .running = load.running(),
          .waiting = load.waiting(),
          .queued_tokens = load.queued_tokens(),
          .running_tokens = load.running_tokens(),
          .blocks_total = load.blocks_total(),
          .blocks_free = load.blocks_free(),
          .stalled_ms = load.stalled_ms(),
          .tokens_per_second = load.tokens_per_second(),
          .draining = load.draining(),
          .preemptions = load.preemptions(),
          .prefix_query_tokens = load.prefix_query_tokens(),
          .prefix_hit_tokens = load.prefix_hit_tokens(),
          .failure = load.failure()};
}

}  // namespace

v1::RouterMessage HelloMessage(uint64_t router_incarnation, uint32_t load_interval_ms) {
  v1::RouterMessage message;
  v1::Hello* hello = message.mutable_hello();
  hello->set_protocol(kProtocolVersion);
  hello->set_router_incarnation(router_incarnation);
  hello->set_load_interval_ms(load_interval_ms);
  return message;
}

v1::RouterMessage SubmitMessage(const SubmitValue& value) {
  v1::RouterMessage message;
  v1::Submit* submit = message.mutable_submit();
  submit->set_sequence(value.wire_id);
  submit->set_attempt(value.attempt);
  submit->mutable_tokens()->Add(value.tokens.begin(), value.tokens.end());
  submit->set_prompt_tokens(value.prompt_tokens);
  v1::SamplingParams* sampling = submit->mutable_sampling();
  sampling->set_temperature(value.sampling.temperature);
  sampling->set_top_k(value.sampling.top_k);
  sampling->set_top_p(value.sampling.top_p);
  sampling->set_min_p(value.sampling.min_p);
  sampling->set_seed(value.sampling.seed);
  sampling->set_choice(value.sampling.choice);
  sampling->set_logprobs(value.sampling.logprobs);
  sampling->set_prompt_logprobs(value.sampling.prompt_logprobs);
  sampling->set_repetition_penalty(value.sampling.repetition_penalty);
  sampling->set_presence_penalty(value.sampling.presence_penalty);
  sampling->set_frequency_penalty(value.sampling.frequency_penalty);
  for (const scheduler::LogitBias& bias : value.sampling.logit_bias) {
    v1::LogitBias* entry = sampling->add_logit_bias();
    entry->set_token(bias.token);
    entry->set_bias(bias.bias);
  }
  sampling->set_min_tokens(value.sampling.min_tokens);
  submit->set_max_tokens(value.max_tokens);
  submit->mutable_stop_token_ids()->Add(value.stop_token_ids.begin(), value.stop_token_ids.end());
  submit->set_priority(value.priority);
  submit->set_deadline_ms(static_cast<uint64_t>(std::max<int64_t>(0, value.deadline_ms)));
  submit->set_group_key(value.group_key);
  submit->set_cache_namespace(value.cache_namespace);
  return message;
}

v1::RouterMessage CancelMessage(uint64_t wire_id, uint32_t attempt) {
  v1::RouterMessage message;
  message.mutable_cancel()->set_sequence(wire_id);
  message.mutable_cancel()->set_attempt(attempt);
  return message;
}

WorkerValue FromMessage(const v1::WorkerMessage& message) {
  switch (message.message_case()) {
    case v1::WorkerMessage::kWelcome:
      return FromProto(message.welcome());
    case v1::WorkerMessage::kLoad:
      return FromProto(message.load());
    case v1::WorkerMessage::kDeltas: {
      DeltasValue deltas;
      for (const v1::SequenceDelta& d : message.deltas().sequences()) {
        deltas.push_back(FromProto(d));
      }
      return deltas;
    }
    default:
      return std::monostate{};
  }
}

}  // namespace shoal::router
