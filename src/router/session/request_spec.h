// SPDX-License-Identifier: Apache-2.0
// RequestSpec: a validated client request in token space, as the session machinery takes it; and
// the values that flow back to the client.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/time/time.h"
#include "scheduler/types/request.h"
#include "scheduler/types/step_result.h"

namespace shoal::router {

struct RequestSpec {
  std::string label;  // the client's or our request id; for logs only
  std::string model;
  std::vector<std::vector<int32_t>> prompts;  // not empty, none empty
  int32_t n = 1;                              // choices of each prompt
  scheduler::SamplingParams sampling;         // `choice` is set per sequence
  int32_t max_tokens = -1;                    // -1: the rest of the context
  std::vector<std::string> stop_strings;      // none empty
  bool include_stop = false;
  std::vector<int32_t> stop_token_ids;  // the client's
  std::vector<int32_t> eos_token_ids;   // the model's, unless ignored
  bool skip_special = true;
  int32_t priority = 0;
  std::string cache_namespace;  // cached prefixes are shared within it
  absl::Time arrival = absl::InfinitePast();
  absl::Time deadline = absl::InfiniteFuture();

  size_t sequences() const { return prompts.size() * static_cast<size_t>(n); }
};

// How a choice ended. Anything else ends the whole request with a status.
enum class ChoiceFinish : uint8_t { kStop, kLength };

// Growth of one choice. Choices are numbered prompt * n + choice of the prompt.
struct ChoiceEvent {
  int32_t choice = 0;
  std::string text;                            // never splits a UTF-8 character
  std::vector<scheduler::TokenOutput> tokens;  // all that count as completion tokens
  bool last_token_hidden = false;              // the last token ended the choice, gives no text
  std::vector<scheduler::TokenOutput> prompt;  // prompt logprobs from position 1 on
  std::optional<ChoiceFinish> finish;          // on the choice's last event
  std::string fingerprint;                     // numerics profile of the replica
  bool exact = true;  // false: the choice was continued under another profile
};

struct RequestUsage {
  int64_t prompt_tokens = 0;  // each prompt once
  int64_t completion_tokens = 0;
  int64_t cached_tokens = 0;
};

// The one terminal event. With an OK status every choice has had its finish.
struct EndEvent {
  absl::Status status;
  RequestUsage usage;
  std::string fingerprint;  // of the replica that answered last; empty if none did
};

// The client's side of a session. Called from one thread at a time; must not block.
class ClientSink {
 public:
  virtual ~ClientSink() = default;
  // False: the client is too far behind; the request will be cancelled.
  virtual bool OnChoice(ChoiceEvent event) = 0;
  // Nothing was sent for a while: a sign of life may be.
  virtual void OnWait() = 0;
  // Exactly once, after everything else.
  virtual void OnEnd(EndEvent event) = 0;
};

}  // namespace shoal::router
