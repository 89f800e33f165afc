// SPDX-License-Identifier: Apache-2.0
// The fixed requests of the exactness matrix and what is compared of their answers.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "shoal/v1/inference.pb.h"

namespace shoal::exactness {

// Everything of an answer that must not depend on how it was computed.
struct Answer {
  std::vector<int32_t> tokens;
  std::vector<uint32_t> logprob_bits;  // chosen and alternatives, as bit patterns, in order
  std::vector<int32_t> alternatives;   // token ids of the alternatives
  std::vector<uint32_t> prompt_logprob_bits;
  int finish = 0;
  friend bool operator==(const Answer&, const Answer&) = default;
};

// Says where two answers differ first; empty when equal.
std::string Difference(const Answer& expected, const Answer& actual);

// `count` requests whose prompt lengths cross the kernels' thresholds (row panels of 1, 4, 8, 16
// and 24, blocks of 16, attention tiles of 64 and splits of 512), greedy and sampled with seeds,
// some sharing prefixes, all with logprobs, some with prompt logprobs. `length_max` bounds prompt
// plus answer.
std::vector<v1::GenerateRequest> MakeRequests(const std::string& model, int count,
                                              int32_t vocab_size, int32_t length_max);

// Adds one streamed response to the answer.
void Accumulate(const v1::GenerateResponse& response, Answer& answer);

}  // namespace shoal::exactness
