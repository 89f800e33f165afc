// SPDX-License-Identifier: Apache-2.0
#include "worker/frontend_harness.h"

namespace shoal::worker {

v1::Submit MakeSubmit(uint64_t sequence, int32_t length, int32_t max_tokens) {
  v1::Submit submit;
  submit.set_sequence(sequence);
  for (int32_t i = 0; i < length; ++i) {
    submit.add_tokens(static_cast<int32_t>((i * 5 + static_cast<int32_t>(sequence) * 11) % 97));
  }
  submit.set_prompt_tokens(length);
  submit.set_max_tokens(max_tokens);
  submit.mutable_sampling()->set_top_p(1);
  submit.mutable_sampling()->set_logprobs(-1);
  submit.mutable_sampling()->set_prompt_logprobs(-1);
  return submit;
}

std::vector<int32_t> Expected(const v1::Submit& submit) {
  return ExpectedTokens({}, {submit.tokens().begin(), submit.tokens().end()},
                        {.temperature = submit.sampling().temperature(),
                         .seed = submit.sampling().seed(),
                         .choice = submit.sampling().choice()},
                        {.max_tokens = submit.max_tokens(), .stop_token_ids = {}});
}

}  // namespace shoal::worker
