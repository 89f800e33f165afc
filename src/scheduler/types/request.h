// SPDX-License-Identifier: Apache-2.0
// Request: one sequence as the worker accepts it, in token space. A client request with n > 1 is n
// of these with the same `group_key`.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "absl/time/time.h"
#include "scheduler/types/ids.h"

namespace shoal::scheduler {

struct LogitBias {
  TokenId token = 0;
  float bias = 0;
  friend bool operator==(const LogitBias&, const LogitBias&) = default;
};

struct SamplingParams {
  float temperature = 1;
  int32_t top_k = 0;  // 0: off
  float top_p = 1;
  float min_p = 0;
  uint64_t seed = 0;      // always set: the router draws one at admission if the client has none
  uint32_t choice = 0;    // index among n; part of the random key
  int32_t logprobs = -1;  // -1: none; k: chosen token + k alternatives
  int32_t prompt_logprobs = -1;  // likewise for prompt tokens; >= 0 bypasses prefix-cache hits
  // See kernels::LogitAdjustment.
  float repetition_penalty = 1;
  float presence_penalty = 0;
  float frequency_penalty = 0;
  std::vector<LogitBias> logit_bias = {};  // no token twice
  // The first `min_tokens` tokens after the prompt are none of these.
  int32_t min_tokens = 0;
  std::vector<TokenId> suppressed = {};
  friend bool operator==(const SamplingParams&, const SamplingParams&) = default;
};

struct StopParams {
  // Tokens to emit at most, counted from the end of the prompt (so emitted tokens that were
  // re-sent by failover count); 0 scores the prompt only.
  int32_t max_tokens = 0;
  std::vector<TokenId> stop_token_ids;  // end with finish reason `stop`; includes EOS ids
  friend bool operator==(const StopParams&, const StopParams&) = default;
};

struct Request {
  SequenceId id;
  // Prompt followed by the tokens already emitted in earlier attempts.
  std::vector<TokenId> tokens;
  // Length of the client's prompt: tokens[prompt_tokens..] were emitted before (failover). Equal to
  // tokens.size() on a first attempt.
  int32_t prompt_tokens = 0;
  SamplingParams sampling;
  StopParams stop;
  int32_t priority = 0;  // larger runs first
  absl::Time arrival = absl::InfinitePast();
  absl::Time deadline = absl::InfiniteFuture();
  // Block-hash namespace beside the weights: adapter and tenant salt. Never shared across.
  std::string cache_namespace;
  // Siblings of one client request (n > 1) share a non-zero key: the later ones wait until the
  // first one's full prompt blocks are cached.
  uint64_t group_key = 0;
};

enum class FinishReason : uint8_t { kStop, kLength, kCancelled, kDeadline, kError };

const char* Name(FinishReason reason);

}  // namespace shoal::scheduler
