// SPDX-License-Identifier: Apache-2.0
#include "exactness/requests.h"

#include <algorithm>
#include <bit>

#include "absl/strings/str_cat.h"
#include "base/philox.h"

namespace shoal::exactness {
namespace {

constexpr int32_t kLengths[] = {1,   2,   3,   5,   7,   8,   9,   15,  16,  17,  23,
                                24,  25,  31,  32,  33,  40,  47,  63,  64,  65,  100,
                                127, 128, 129, 200, 255, 257, 511, 512, 513, 1100};
// Every third answer is long: together they outgrow a tight pool and force preemptions.
constexpr int32_t kAnswerTokens = 20;
constexpr int32_t kLongAnswerTokens = 140;
constexpr int32_t kFirstOrdinaryToken = 16;

uint32_t Random(uint32_t stream, uint32_t index) {
  return Philox4x32({index, stream, 0, 0}, {0x5110a1, 7})[0];
}

template <typename T>
std::string FirstDifference(const char* what, const std::vector<T>& expected,
                            const std::vector<T>& actual) {
  for (size_t i = 0; i < std::min(expected.size(), actual.size()); ++i) {
    if (expected[i] != actual[i]) {
      return absl::StrCat(what, " ", i, " is ", actual[i], ", expected ", expected[i]);
    }
  }
  if (expected.size() == actual.size()) return "";
  return absl::StrCat(actual.size(), " ", what, "s, expected ", expected.size());
}

// Every fourth request draws with penalties, biased tokens or a least length.
void SetAdjustment(int i, v1::RequestOptions& options) {
  v1::Sampling& sampling = *options.mutable_sampling();
  switch (i % 12) {
    case 2:
      sampling.set_repetition_penalty(1.2f);
      sampling.set_frequency_penalty(0.5f);
      break;
    case 5:
      sampling.set_presence_penalty(1.5f);
      (*sampling.mutable_logit_bias())[kFirstOrdinaryToken] = -4;
      (*sampling.mutable_logit_bias())[kFirstOrdinaryToken + 5] = 2.5f;
      break;
    case 8:
      options.mutable_stop()->set_min_tokens(kAnswerTokens / 2);
      sampling.set_frequency_penalty(-0.25f);
      break;
    default:
      break;
  }
}

void SetSampling(int i, v1::RequestOptions& options) {
  SetAdjustment(i, options);
  v1::Sampling& sampling = *options.mutable_sampling();
  sampling.set_seed(1000 + static_cast<uint64_t>(i));
  switch (i % 4) {
    case 0:
      sampling.set_temperature(0);
      break;
    case 1:
      sampling.set_temperature(1);
      break;
    case 2:
      sampling.set_temperature(0.8f);
      sampling.set_top_k(40);
      sampling.set_top_p(0.95f);
      break;
    default:
      sampling.set_temperature(1.3f);
      sampling.set_min_p(0.02f);
      break;
  }
}

}  // namespace

std::string Difference(const Answer& expected, const Answer& actual) {
  std::string text = FirstDifference("token", expected.tokens, actual.tokens);
  if (text.empty()) text = FirstDifference("logprob", expected.logprob_bits, actual.logprob_bits);
  if (text.empty()) {
    text = FirstDifference("alternative", expected.alternatives, actual.alternatives);
  }
  if (text.empty()) {
    text =
        FirstDifference("prompt logprob", expected.prompt_logprob_bits, actual.prompt_logprob_bits);
  }
  if (text.empty() && expected.finish != actual.finish) {
    text = absl::StrCat("finish reason ", actual.finish, ", expected ", expected.finish);
  }
  return text;
}

std::vector<v1::GenerateRequest> MakeRequests(const std::string& model, int count,
                                              int32_t vocab_size, int32_t length_max) {
  std::vector<v1::GenerateRequest> requests;
  for (int i = 0; i < count; ++i) {
    // A fixed permutation, so that long and short ones alternate.
    const size_t pick = static_cast<size_t>(i) * 13 % std::size(kLengths);
    const int32_t answer = i % 3 == 1 ? kLongAnswerTokens : kAnswerTokens;
    const int32_t length = std::min(kLengths[pick], length_max - answer);
    v1::GenerateRequest request;
    request.set_model(model);
    // Every third request starts like all the others of its kind.
    const uint32_t stream = i % 3 == 0 ? 0 : static_cast<uint32_t>(i);
    for (int32_t t = 0; t < length; ++t) {
      const uint32_t range = static_cast<uint32_t>(vocab_size - kFirstOrdinaryToken);
      const uint32_t token = Random(stream, static_cast<uint32_t>(t)) % range;
      request.mutable_token_ids()->add_ids(kFirstOrdinaryToken + static_cast<int32_t>(token));
    }
    SetSampling(i, *request.mutable_options());
    request.mutable_options()->mutable_stop()->set_max_tokens(answer);
    request.mutable_options()->set_logprobs(i % 5);
    if (i % 7 == 3) request.mutable_options()->set_prompt_logprobs(1);
    requests.push_back(std::move(request));
  }
  return requests;
}

void Accumulate(const v1::GenerateResponse& response, Answer& answer) {
  for (const int32_t token : response.token_ids()) answer.tokens.push_back(token);
  for (const v1::LogprobEntry& entry : response.logprobs()) {
    answer.logprob_bits.push_back(std::bit_cast<uint32_t>(entry.chosen().logprob()));
    for (const v1::TokenLogprob& top : entry.top()) {
      answer.alternatives.push_back(top.token_id());
      answer.logprob_bits.push_back(std::bit_cast<uint32_t>(top.logprob()));
    }
  }
  for (const v1::LogprobEntry& entry : response.prompt_logprobs()) {
    answer.prompt_logprob_bits.push_back(std::bit_cast<uint32_t>(entry.chosen().logprob()));
  }
  if (response.finish_reason() != v1::FINISH_REASON_UNSPECIFIED) {
    answer.finish = response.finish_reason();
  }
}

}  // namespace shoal::exactness
