// SPDX-License-Identifier: Apache-2.0
// Translation between inference.proto and the router's own values.
#pragma once

#include <grpcpp/support/status.h>

#include "absl/status/status.h"
#include "nlohmann/json.hpp"
#include "router/frontend/generation_request.h"
#include "router/policy/fleet_snapshot.h"
#include "router/session/request_spec.h"
#include "shoal/v1/inference.pb.h"
#include "text/tokenizer.h"

namespace shoal::router {

grpc::Status ToGrpc(const absl::Status& status);

// INVALID_ARGUMENT for a request without a prompt.
absl::StatusOr<GenerationRequest> FromProto(const v1::GenerateRequest& request);
absl::StatusOr<GenerationRequest> FromProto(const v1::ChatRequest& request);
nlohmann::ordered_json MessagesJson(
    const google::protobuf::RepeatedPtrField<v1::ChatMessage>& messages);

// Without prompt tokens, prompt logprobs and usage.
v1::GenerateResponse ToProto(const ChoiceEvent& event, const text::Tokenizer& tokenizer,
                             bool logprobs);
v1::LogprobEntry ToProto(const scheduler::TokenOutput& token, const text::Tokenizer& tokenizer);
v1::Usage ToProto(const RequestUsage& usage);
v1::ReplicaState ToProto(const ReplicaView& replica);

}  // namespace shoal::router
