// SPDX-License-Identifier: Apache-2.0
// StepResult: what a step produced, as the executor reports it; and Delta, what the engine sends
// towards the client.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "scheduler/types/ids.h"
#include "scheduler/types/request.h"

namespace shoal::scheduler {

struct TokenLogprob {
  TokenId token = 0;
  float logprob = 0;
  friend bool operator==(const TokenLogprob&, const TokenLogprob&) = default;
};

// One token with the logprobs that were asked for.
struct TokenOutput {
  TokenId token = 0;
  bool has_logprob = false;
  float logprob = 0;
  int64_t rank = 0;
  std::vector<TokenLogprob> top;
  friend bool operator==(const TokenOutput&, const TokenOutput&) = default;
};

// What one slice produced: 0..k sampled tokens (more than one with speculation), and prompt
// logprobs of the tokens at positions [prompt_first, prompt_first + prompt.size()).
struct SequenceResult {
  SequenceId sequence;
  std::vector<TokenOutput> tokens;
  int32_t prompt_first = 0;
  std::vector<TokenOutput> prompt;
  friend bool operator==(const SequenceResult&, const SequenceResult&) = default;
};

struct StepResult {
  StepNumber step;
  std::vector<SequenceResult> sequences;  // in the order of the plan's slices
};

// Growth of one sequence since the previous Delta of the same attempt. Exactly one Delta of a
// sequence has a finish reason, and it is the last.
struct Delta {
  SequenceId sequence;
  uint32_t attempt = 0;
  std::vector<TokenOutput> tokens;
  std::vector<TokenOutput> prompt;  // prompt logprobs, in order from position 1
  std::optional<FinishReason> finish;
  std::string error;  // with FinishReason::kError
  int32_t prompt_tokens = 0;
  int32_t cached_tokens = 0;  // prompt tokens served from the prefix cache
};

}  // namespace shoal::scheduler
