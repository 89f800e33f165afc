// SPDX-License-Identifier: Apache-2.0
#include "worker/frontend/convert.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <utility>

#include "absl/container/flat_hash_set.h"
#include "absl/strings/str_cat.h"
#include "base/status.h"

namespace shoal::worker {
namespace {

constexpr float kTemperatureMax = 2;
constexpr int32_t kLogprobsMax = 20;
constexpr float kRepetitionMax = 10;
constexpr float kPenaltyMax = 2;
constexpr float kBiasMax = 100;
constexpr int kBiasesMax = 1024;
constexpr uint32_t kChoicesMax = 128;
constexpr int32_t kPriorityMax = 1000;
constexpr int kStopTokensMax = 1024;
constexpr size_t kNamespaceBytesMax = 1024;

template <typename T>
absl::Status Outside(absl::string_view field, T value, absl::string_view range) {
  return absl::InvalidArgumentError(absl::StrCat(field, " ", value, " is outside ", range));
}

absl::Status CheckSampling(const v1::SamplingParams& sampling) {
  // Written so that NaN fails each of them.
  if (!(sampling.temperature() >= 0 && sampling.temperature() <= kTemperatureMax)) {
    return Outside("temperature", sampling.temperature(), "[0, 2]");
  }
  if (sampling.top_k() < -1) return Outside("top_k", sampling.top_k(), "[-1, 2147483647]");
  if (!(sampling.top_p() > 0 && sampling.top_p() <= 1)) {
    return Outside("top_p", sampling.top_p(), "(0, 1]");
  }
  if (!(sampling.min_p() >= 0 && sampling.min_p() < 1)) {
    return Outside("min_p", sampling.min_p(), "[0, 1)");
  }
  if (sampling.logprobs() < -1 || sampling.logprobs() > kLogprobsMax) {
    return Outside("logprobs", sampling.logprobs(), "[-1, 20]");
  }
  if (sampling.prompt_logprobs() < -1 || sampling.prompt_logprobs() > kLogprobsMax) {
    return Outside("prompt_logprobs", sampling.prompt_logprobs(), "[-1, 20]");
  }
  // 0 is what an older router sends: none.
  if (!(sampling.repetition_penalty() >= 0 && sampling.repetition_penalty() <= kRepetitionMax)) {
    return Outside("repetition_penalty", sampling.repetition_penalty(), "[0, 10]");
  }
  if (!(std::fabs(sampling.presence_penalty()) <= kPenaltyMax)) {
    return Outside("presence_penalty", sampling.presence_penalty(), "[-2, 2]");
  }
  if (!(std::fabs(sampling.frequency_penalty()) <= kPenaltyMax)) {
    return Outside("frequency_penalty", sampling.frequency_penalty(), "[-2, 2]");
  }
  if (sampling.min_tokens() < 0)
    return Outside("min_tokens", sampling.min_tokens(), "[0, context]");
  if (sampling.choice() >= kChoicesMax) return Outside("choice", sampling.choice(), "[0, 127]");
  return absl::OkStatus();
}

absl::Status CheckIds(absl::string_view field, const google::protobuf::RepeatedField<int32_t>& ids,
                      int32_t vocab_size) {
  for (int i = 0; i < ids.size(); ++i) {
    if (ids[i] >= 0 && ids[i] < vocab_size) continue;
    return absl::InvalidArgumentError(
        absl::StrCat(field, "[", i, "] is ", ids[i], ", outside the vocabulary of ", vocab_size));
  }
  return absl::OkStatus();
}

absl::Status CheckBiases(const google::protobuf::RepeatedPtrField<v1::LogitBias>& biases,
                         int32_t vocab_size) {
  if (biases.size() > kBiasesMax) {
    return Outside("the number of logit_bias entries", biases.size(), "[0, 1024]");
  }
  absl::flat_hash_set<int32_t> seen;
  for (const v1::LogitBias& bias : biases) {
    if (bias.token() < 0 || bias.token() >= vocab_size || !seen.insert(bias.token()).second) {
      return absl::InvalidArgumentError(absl::StrCat("logit_bias names token ", bias.token(),
                                                     " twice or outside the vocabulary of ",
                                                     vocab_size));
    }
    if (!(std::fabs(bias.bias()) <= kBiasMax)) {
      return Outside("a logit_bias", bias.bias(), "[-100, 100]");
    }
  }
  return absl::OkStatus();
}

absl::Status CheckLengths(const v1::Submit& submit, const WorkerIdentity& identity) {
  if (submit.tokens().empty()) return absl::InvalidArgumentError("tokens are empty");
  if (submit.tokens_size() > identity.max_context) {
    return absl::InvalidArgumentError(absl::StrCat("tokens hold ", submit.tokens_size(),
                                                   " ids; the context is ", identity.max_context));
  }
  if (submit.prompt_tokens() < 1 || submit.prompt_tokens() > submit.tokens_size()) {
    return Outside("prompt_tokens", submit.prompt_tokens(),
                   absl::StrCat("[1, ", submit.tokens_size(), "]"));
  }
  if (submit.max_tokens() < -1) return Outside("max_tokens", submit.max_tokens(), "[-1, context]");
  const int32_t emitted = submit.tokens_size() - submit.prompt_tokens();
  if (emitted > 0 && submit.max_tokens() >= 0 && emitted >= submit.max_tokens()) {
    return absl::InvalidArgumentError(absl::StrCat("max_tokens is ", submit.max_tokens(), ", but ",
                                                   emitted, " tokens were already emitted"));
  }
  if (submit.priority() < -kPriorityMax || submit.priority() > kPriorityMax) {
    return Outside("priority", submit.priority(), "[-1000, 1000]");
  }
  if (submit.stop_token_ids_size() > kStopTokensMax) {
    return Outside("the number of stop_token_ids", submit.stop_token_ids_size(), "[0, 1024]");
  }
  if (submit.cache_namespace().size() > kNamespaceBytesMax) {
    return Outside("the length of cache_namespace", submit.cache_namespace().size(), "[0, 1024]");
  }
  return absl::OkStatus();
}

// Keys of different streams must not meet; 0 stays "no group".
uint64_t GroupKey(StreamId stream, uint64_t key) {
  if (key == 0) return 0;
  const uint64_t mixed = (key ^ (stream.value() * 0x9E3779B97F4A7C15u)) * 0xBF58476D1CE4E5B9u;
  return mixed == 0 ? 1 : mixed;
}

void SetToken(const scheduler::TokenOutput& from, v1::TokenOutput* to) {
  to->set_token(from.token);
  if (!from.has_logprob) return;
  to->set_has_logprob(true);
  to->set_logprob(from.logprob);
  to->set_rank(from.rank);
  for (const scheduler::TokenLogprob& top : from.top) {
    v1::TopLogprob* entry = to->add_top();
    entry->set_token(top.token);
    entry->set_logprob(top.logprob);
  }
}

v1::Finish ToFinish(scheduler::FinishReason reason) {
  switch (reason) {
    case scheduler::FinishReason::kStop:
      return v1::FINISH_STOP;
    case scheduler::FinishReason::kLength:
      return v1::FINISH_LENGTH;
    case scheduler::FinishReason::kCancelled:
      return v1::FINISH_CANCELLED;
    case scheduler::FinishReason::kDeadline:
      return v1::FINISH_DEADLINE;
    case scheduler::FinishReason::kError:
      return v1::FINISH_ERROR;
  }
  return v1::FINISH_ERROR;
}

scheduler::SamplingParams ToSampling(const v1::Submit& submit) {
  const v1::SamplingParams& from = submit.sampling();
  scheduler::SamplingParams to{.temperature = from.temperature(),
                               .top_k = std::max(from.top_k(), 0),
                               .top_p = from.top_p(),
                               .min_p = from.min_p(),
                               .seed = from.seed(),
                               .choice = from.choice(),
                               .logprobs = from.logprobs(),
                               .prompt_logprobs = from.prompt_logprobs()};
  if (from.repetition_penalty() > 0) to.repetition_penalty = from.repetition_penalty();
  to.presence_penalty = from.presence_penalty();
  to.frequency_penalty = from.frequency_penalty();
  for (const v1::LogitBias& bias : from.logit_bias()) {
    to.logit_bias.push_back({.token = bias.token(), .bias = bias.bias()});
  }
  to.min_tokens = from.min_tokens();
  if (to.min_tokens > 0) {
    to.suppressed.assign(submit.stop_token_ids().begin(), submit.stop_token_ids().end());
  }
  return to;
}

}  // namespace

absl::StatusOr<Submission> ToSubmission(v1::Submit submit, StreamId stream,
                                        scheduler::SequenceId id, const WorkerIdentity& identity,
                                        const FrontendLimits& limits) {
  SHOAL_RETURN_IF_ERROR(CheckLengths(submit, identity));
  SHOAL_RETURN_IF_ERROR(CheckIds("tokens", submit.tokens(), identity.vocab_size));
  SHOAL_RETURN_IF_ERROR(CheckIds("stop_token_ids", submit.stop_token_ids(), identity.vocab_size));
  SHOAL_RETURN_IF_ERROR(CheckSampling(submit.sampling()));
  SHOAL_RETURN_IF_ERROR(CheckBiases(submit.sampling().logit_bias(), identity.vocab_size));
  Submission submission;
  submission.ticket = {
      .stream = stream, .client_sequence = submit.sequence(), .attempt = submit.attempt()};
  scheduler::Request& request = submission.request;
  request.id = id;
  request.tokens.assign(submit.tokens().begin(), submit.tokens().end());
  request.prompt_tokens = submit.prompt_tokens();
  request.sampling = ToSampling(submit);
  const int32_t rest = identity.max_context - submit.prompt_tokens();
  request.stop.max_tokens =
      submit.max_tokens() < 0 ? rest : std::min<int32_t>(submit.max_tokens(), rest);
  request.stop.stop_token_ids.assign(submit.stop_token_ids().begin(),
                                     submit.stop_token_ids().end());
  request.priority = submit.priority();
  request.cache_namespace = std::move(*submit.mutable_cache_namespace());
  request.group_key = GroupKey(stream, submit.group_key());
  constexpr uint64_t kDayMs = 24 * 3600 * 1000;
  submission.time_left =
      submit.deadline_ms() == 0
          ? limits.request_deadline
          : absl::Milliseconds(static_cast<int64_t>(std::min(submit.deadline_ms(), kDayMs)));
  return submission;
}

void AppendDelta(EngineDelta delta, v1::Deltas* deltas) {
  v1::SequenceDelta* out = deltas->add_sequences();
  out->set_sequence(delta.ticket.client_sequence);
  out->set_attempt(delta.ticket.attempt);
  for (const scheduler::TokenOutput& token : delta.delta.tokens) SetToken(token, out->add_tokens());
  for (const scheduler::TokenOutput& token : delta.delta.prompt) SetToken(token, out->add_prompt());
  out->set_cached_tokens(delta.delta.cached_tokens);
  if (!delta.delta.finish.has_value()) return;
  out->set_finish(ToFinish(*delta.delta.finish));
  if (*delta.delta.finish != scheduler::FinishReason::kError) return;
  out->set_error_code(static_cast<int32_t>(delta.error_code));
  out->set_error(std::move(delta.delta.error));
  out->set_rejected(delta.rejected);
}

v1::Welcome ToWelcome(const WorkerIdentity& identity) {
  v1::Welcome welcome;
  welcome.set_protocol(kProtocolVersion);
  welcome.set_incarnation(identity.incarnation);
  welcome.set_model(identity.model);
  welcome.set_weights_digest(identity.weights_digest);
  welcome.set_system_fingerprint(identity.system_fingerprint);
  welcome.set_max_context(identity.max_context);
  welcome.set_vocab_size(identity.vocab_size);
  welcome.set_block_tokens(identity.block_tokens);
  welcome.set_pool_tokens(identity.pool_tokens);
  welcome.set_max_sequences(identity.max_sequences);
  return welcome;
}

v1::Load ToLoad(const EngineLoad& load, const LoadTimes& times, uint64_t incarnation) {
  v1::Load out;
  out.set_incarnation(incarnation);
  out.set_steps(load.steps);
  out.set_running(load.stats.running);
  out.set_waiting(load.stats.waiting);
  out.set_queued_tokens(load.stats.queued_tokens);
  out.set_running_tokens(load.stats.running_tokens);
  out.set_blocks_total(load.stats.blocks_total);
  out.set_blocks_free(load.stats.blocks_free);
  out.set_oldest_waiting_ms(absl::ToInt64Milliseconds(times.oldest_waiting));
  out.set_stalled_ms(absl::ToInt64Milliseconds(times.stalled));
  out.set_tokens_per_second(load.tokens_per_second);
  out.set_draining(load.draining || !load.failure.ok());
  out.set_accepted(load.accepted);
  out.set_ended(load.ended);
  out.set_preemptions(load.stats.preemptions);
  out.set_prefix_query_tokens(load.stats.prefix_query_tokens);
  out.set_prefix_hit_tokens(load.stats.prefix_hit_tokens);
  out.set_failure(std::string(load.failure.message()));
  return out;
}

}  // namespace shoal::worker
