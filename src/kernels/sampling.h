// SPDX-License-Identifier: Apache-2.0
// Values of the sampling op: what is asked for one row of logits and what comes back.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

namespace shoal::kernels {

// Purposes of a random number: part of the Philox key.
enum class RandomPurpose : uint32_t { kSample = 0 };

// A token that occurs in the sequence.
struct TokenUse {
  int32_t token = 0;
  int32_t generated = 0;  // occurrences after the prompt; 0: only in the prompt
};

struct TokenBias {
  int32_t token = 0;
  float bias = 0;
  friend bool operator==(const TokenBias&, const TokenBias&) = default;
};

// What changes the logits before a token is drawn. In this order, each step rounded to float:
//   suppressed   logit = -infinity
//   biases       logit = logit + bias
//   repetition   of every used token: logit = logit > 0 ? logit / penalty : logit * penalty
//   frequency    logit = logit - frequency * generated
//   presence     logit = logit - presence, if generated > 0
// Each list names a token at most once; the views outlive the op.
struct LogitAdjustment {
  float repetition_penalty = 1;  // above 0
  float presence_penalty = 0;
  float frequency_penalty = 0;
  std::span<const TokenUse> uses = {};
  std::span<const TokenBias> biases = {};
  std::span<const int32_t> suppressed = {};

  bool penalises() const {
    return repetition_penalty != 1 || presence_penalty != 0 || frequency_penalty != 0;
  }
  bool empty() const {
    return biases.empty() && suppressed.empty() && (uses.empty() || !penalises());
  }
};

// One row: draw the token at absolute position `position` of the sequence.
struct SampleRow {
  int64_t logits_row = 0;
  bool draw = true;  // false: only logprobs of `given_token` (prompt logprobs)
  int32_t given_token = -1;
  float temperature = 1;  // 0: greedy (ties: lowest id)
  int32_t top_k = 0;      // 0: off; greater than the vocabulary: clamped
  float top_p = 1;        // (0, 1]
  float min_p = 0;        // [0, 1)
  uint64_t seed = 0;
  uint32_t choice = 0;    // index among the n choices of a request
  int64_t position = 0;   // absolute position of the token that is drawn
  int32_t logprobs = -1;  // -1: none; k >= 0: of the chosen token and of the k most likely
  LogitAdjustment adjustment = {};  // with `draw` only
};

struct TokenLogprob {
  int32_t token = 0;
  float logprob = 0;
  friend bool operator==(const TokenLogprob&, const TokenLogprob&) = default;
};

// Logprobs are of the raw logits: logit - log-sum-exp, before adjustment, temperature and filters.
struct SampledToken {
  int32_t token = 0;
  float logprob = 0;              // set when logprobs >= 0
  int64_t rank = 0;               // 1: the most likely; set when logprobs >= 0
  std::vector<TokenLogprob> top;  // descending logprob, ties by lower id
};

}  // namespace shoal::kernels
