// SPDX-License-Identifier: Apache-2.0
// Sequence: one choice of a request: its attempts, the journal of its tokens, its text. Pure.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "router/fleet/wire.h"
#include "router/policy/policy.h"
#include "router/session/request_spec.h"
#include "text/detokenizer.h"
#include "text/stop_matcher.h"
#include "text/tokenizer.h"

namespace shoal::router {

// What a delta means for the client.
struct SequenceGrowth {
  std::optional<ChoiceEvent> event;
  bool cancel_at_worker = false;  // a stop string ended it; the worker still runs
  int64_t overrun_tokens = 0;     // sampled after the end, dropped
};

class Sequence {
 public:
  Sequence(const RequestSpec& spec, std::shared_ptr<const text::Tokenizer> tokenizer,
           int32_t index);

  int32_t index() const { return index_; }
  int32_t prompt() const { return prompt_; }
  bool finished() const { return finished_; }
  bool active() const { return active_; }  // submitted, and the attempt is still open
  uint32_t attempt() const { return attempt_; }
  size_t replica() const { return replica_; }
  const std::string& fingerprint() const { return fingerprint_; }  // of the last attempt
  // The numerics profile that gave what the client has so far; empty before it has anything.
  const std::string& emitted_fingerprint() const { return emitted_fingerprint_; }
  const std::vector<int32_t>& journal() const { return journal_; }
  int64_t completion_tokens() const { return static_cast<int64_t>(journal_.size()); }
  int64_t cached_tokens() const { return cached_tokens_; }
  const std::vector<Exclusion>& tried() const { return tried_; }
  // Replicas that ended unexpectedly while they may have been computing it.
  int32_t crashes() const { return crashes_; }
  bool suspect() const { return crashes_ > 0; }
  // A suspect that has given nothing since: should the replica end now, this one did it.
  bool on_probation() const { return active_ && probation_; }
  void Blame() { ++crashes_; }

  // The next attempt on `where`: what to send there, resuming after the journal. The wire id is the
  // caller's to fill.
  SubmitValue Submit(const Exclusion& where, const std::string& fingerprint, absl::Time now);
  // The open attempt is over without an end of the sequence.
  void CloseAttempt() { active_ = false; }
  // Whether the journal already holds the end (the final delta itself was lost): then the event to
  // send instead of another attempt.
  std::optional<ChoiceEvent> FinishFromJournal();
  // Tokens (and possibly the end with stop or length) of the open attempt.
  SequenceGrowth Grow(SequenceDeltaValue delta);
  // The client went away or the request failed.
  void Abandon() { finished_ = true; }

 private:
  bool IsStopToken(int32_t token) const;
  void PushToken(scheduler::TokenOutput token, SequenceGrowth& growth, ChoiceEvent& event);
  void TakePromptLogprobs(std::vector<scheduler::TokenOutput> prompt, ChoiceEvent& event);
  void End(ChoiceFinish finish, ChoiceEvent& event);

  const RequestSpec& spec_;  // owned by the session, which owns this too
  const int32_t index_;
  const int32_t prompt_;
  text::IncrementalDetokenizer detokenizer_;
  text::StopMatcher matcher_;
  std::vector<int32_t> journal_;
  size_t prompt_seen_ = 0;        // prompt logprobs passed on
  size_t prompt_in_attempt_ = 0;  // received in the open attempt
  bool finished_ = false;
  bool stopped_by_text_ = false;
  bool active_ = false;
  uint32_t attempt_ = 0;
  size_t replica_ = 0;
  bool probation_ = false;  // the open attempt began as a suspect's and has given nothing
  int32_t crashes_ = 0;
  std::string fingerprint_;
  std::string emitted_fingerprint_;
  bool exact_ = true;  // all that was emitted is of one profile
  int64_t cached_tokens_ = 0;
  std::vector<Exclusion> tried_;
};

}  // namespace shoal::router
