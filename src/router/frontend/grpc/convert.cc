// SPDX-License-Identifier: Apache-2.0
#include "router/frontend/grpc/convert.h"

#include <algorithm>
#include <string>

#include "router/api_error.h"

namespace shoal::router {
namespace {

using json = nlohmann::ordered_json;

void ReadOptions(const v1::RequestOptions& options, GenerationParams& params) {
  const v1::Sampling& sampling = options.sampling();
  if (sampling.has_temperature()) params.temperature = sampling.temperature();
  if (sampling.has_top_k()) params.top_k = sampling.top_k();
  if (sampling.has_top_p()) params.top_p = sampling.top_p();
  if (sampling.has_min_p()) params.min_p = sampling.min_p();
  if (sampling.has_seed()) params.seed = sampling.seed();
  if (sampling.has_repetition_penalty()) params.repetition_penalty = sampling.repetition_penalty();
  if (sampling.has_presence_penalty()) params.presence_penalty = sampling.presence_penalty();
  if (sampling.has_frequency_penalty()) params.frequency_penalty = sampling.frequency_penalty();
  params.logit_bias.assign(sampling.logit_bias().begin(), sampling.logit_bias().end());
  std::sort(params.logit_bias.begin(), params.logit_bias.end());
  const v1::Stop& stop = options.stop();
  if (stop.has_max_tokens()) params.max_tokens = stop.max_tokens();
  params.stop.assign(stop.strings().begin(), stop.strings().end());
  params.stop_token_ids.assign(stop.token_ids().begin(), stop.token_ids().end());
  params.include_stop = stop.include_stop_string();
  if (stop.has_min_tokens()) params.min_tokens = stop.min_tokens();
  params.ignore_eos = stop.ignore_eos();
  if (options.has_n()) params.n = options.n();
  if (options.has_logprobs()) params.logprobs = options.logprobs();
  if (options.has_prompt_logprobs()) params.prompt_logprobs = options.prompt_logprobs();
  params.priority = options.priority();
  params.keep_special = options.keep_special_tokens();
  params.cache_salt = options.cache_salt();
}

// Client ids are labels: shortened, and nothing else is derived from them.
std::string Label(const std::string& request_id) {
  return request_id.empty() ? "grpc" : request_id.substr(0, 128);
}

void FillLogprob(int32_t token, float logprob, const text::Tokenizer& tokenizer,
                 v1::TokenLogprob* out) {
  out->set_token_id(token);
  out->set_logprob(logprob);
  const absl::string_view bytes = tokenizer.TokenBytes(token);
  out->set_token(bytes.data(), bytes.size());
}

}  // namespace

grpc::Status ToGrpc(const absl::Status& status) {
  if (status.ok()) return grpc::Status::OK;
  return grpc::Status(static_cast<grpc::StatusCode>(status.code()), std::string(status.message()));
}

absl::StatusOr<GenerationRequest> FromProto(const v1::GenerateRequest& request) {
  GenerationRequest out;
  out.label = Label(request.request_id());
  out.model = request.model();
  ReadOptions(request.options(), out.params);
  switch (request.prompt_case()) {
    case v1::GenerateRequest::kText:
      out.prompts.push_back({false, request.text(), {}});
      return out;
    case v1::GenerateRequest::kTokenIds: {
      const auto& ids = request.token_ids().ids();
      out.prompts.push_back({true, "", std::vector<int64_t>(ids.begin(), ids.end())});
      return out;
    }
    default:
      return BadParam("prompt", "text or token_ids is required");
  }
}

json MessagesJson(const google::protobuf::RepeatedPtrField<v1::ChatMessage>& messages) {
  json list = json::array();
  for (const v1::ChatMessage& message : messages) {
    const std::string role = message.role() == "developer" ? "system" : message.role();
    list.push_back({{"role", role}, {"content", message.content()}});
  }
  return list;
}

absl::StatusOr<GenerationRequest> FromProto(const v1::ChatRequest& request) {
  if (request.messages().empty()) return BadParam("messages", "must not be empty");
  GenerationRequest out;
  out.chat = true;
  out.label = Label(request.request_id());
  out.model = request.model();
  ReadOptions(request.options(), out.params);
  for (const v1::ChatMessage& message : request.messages()) {
    if (message.role().empty()) return BadParam("messages", "every message needs a role");
  }
  out.messages = MessagesJson(request.messages());
  return out;
}

v1::LogprobEntry ToProto(const scheduler::TokenOutput& token, const text::Tokenizer& tokenizer) {
  v1::LogprobEntry entry;
  FillLogprob(token.token, token.logprob, tokenizer, entry.mutable_chosen());
  for (const scheduler::TokenLogprob& other : token.top) {
    FillLogprob(other.token, other.logprob, tokenizer, entry.add_top());
  }
  return entry;
}

v1::GenerateResponse ToProto(const ChoiceEvent& event, const text::Tokenizer& tokenizer,
                             bool logprobs) {
  v1::GenerateResponse response;
  response.set_choice(event.choice);
  response.set_text(event.text);
  response.set_system_fingerprint(event.fingerprint);
  response.set_inexact(!event.exact);
  for (const scheduler::TokenOutput& token : event.tokens) {
    response.add_token_ids(token.token);
    if (logprobs) *response.add_logprobs() = ToProto(token, tokenizer);
  }
  if (event.finish.has_value()) {
    response.set_finish_reason(*event.finish == ChoiceFinish::kStop ? v1::FINISH_REASON_STOP
                                                                    : v1::FINISH_REASON_LENGTH);
  }
  return response;
}

v1::Usage ToProto(const RequestUsage& usage) {
  v1::Usage out;
  out.set_prompt_tokens(static_cast<int32_t>(usage.prompt_tokens));
  out.set_completion_tokens(static_cast<int32_t>(usage.completion_tokens));
  out.set_cached_tokens(static_cast<int32_t>(usage.cached_tokens));
  return out;
}

v1::ReplicaState ToProto(const ReplicaView& replica) {
  v1::ReplicaState state;
  state.set_name(replica.name);
  state.set_model(replica.model);
  state.set_address(replica.address);
  state.set_state(Name(replica.health));
  state.set_incarnation(replica.incarnation);
  state.set_running(replica.running);
  state.set_waiting(replica.waiting);
  state.set_steps(replica.steps);
  state.set_kv_blocks_total(replica.blocks_total);
  state.set_kv_blocks_free(replica.blocks_free);
  state.set_preemptions(replica.preemptions);
  state.set_prefix_query_tokens(replica.prefix_query_tokens);
  state.set_prefix_hit_tokens(replica.prefix_hit_tokens);
  state.set_system_fingerprint(replica.fingerprint);
  return state;
}

}  // namespace shoal::router
