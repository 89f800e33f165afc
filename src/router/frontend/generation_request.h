// SPDX-License-Identifier: Apache-2.0
// GenerationRequest: a client's request as both front ends understand it, before its ranges are
// checked and its text is tokenized; so HTTP and gRPC cannot disagree.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/time/time.h"
#include "nlohmann/json.hpp"
#include "router/frontend/served_model.h"
#include "router/session/request_spec.h"

namespace shoal::router {

// Absent values take their defaults in Prepare.
struct GenerationParams {
  std::optional<double> temperature, top_p, min_p;
  std::optional<double> repetition_penalty, presence_penalty, frequency_penalty;
  std::vector<std::pair<int64_t, double>> logit_bias;
  std::optional<int64_t> top_k, n, max_tokens, min_tokens, logprobs, prompt_logprobs, priority;
  std::optional<uint64_t> seed;
  std::vector<std::string> stop;
  std::vector<int64_t> stop_token_ids;
  bool include_stop = false;
  bool keep_special = false;
  bool ignore_eos = false;
  std::string cache_salt;  // cached prefixes are shared only between requests of equal salt
};

struct PromptInput {
  bool is_tokens = false;
  std::string text;
  std::vector<int64_t> tokens;
};

struct GenerationRequest {
  std::string label;
  std::string model;
  bool chat = false;
  std::vector<PromptInput> prompts;  // !chat
  nlohmann::ordered_json messages;   // chat: a non-empty array of objects with role and content
  nlohmann::ordered_json variables =
      nlohmann::ordered_json::object();  // chat: tools and others for the template
  bool add_generation_prompt = true;
  GenerationParams params;
  absl::Time arrival;
  absl::Time deadline;
};

inline constexpr int64_t kSequencesMax = 256;  // prompts times n of one request
inline constexpr size_t kStopStringsMax = 16;
inline constexpr size_t kStopStringBytesMax = 1024;
inline constexpr size_t kStopTokensMax = 64;
inline constexpr size_t kLogitBiasesMax = 1024;
inline constexpr double kLogitBiasMax = 100;
inline constexpr size_t kCacheSaltBytesMax = 256;

// Every range, with the parameter's name; INVALID_ARGUMENT.
absl::Status CheckParams(const GenerationParams& params);

// Checks, renders, tokenizes. `default_seed` is used when the client has none.
absl::StatusOr<RequestSpec> Prepare(const GenerationRequest& request, const ServedModel& model,
                                    uint64_t default_seed);

// The tokens of one text or conversation.
absl::StatusOr<std::vector<int32_t>> RenderChat(const ServedModel& model,
                                                const nlohmann::ordered_json& messages,
                                                const nlohmann::ordered_json& variables,
                                                bool add_generation_prompt, absl::Time now);

}  // namespace shoal::router
