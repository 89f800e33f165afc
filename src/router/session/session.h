// SPDX-License-Identifier: Apache-2.0
// Session: the state machine of one client request. Pure: events go in, actions come out; the
// dispatcher carries them out.
//
// A sequence whose replica fails is sent again elsewhere as prompt + journal, so that the client
// sees a pause and never a repeated or lost token. Exactly one action set of a session carries
// `end`.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/time/time.h"
#include "router/fleet/wire.h"
#include "router/policy/policy.h"
#include "router/session/request_spec.h"
#include "router/session/sequence.h"
#include "text/tokenizer.h"

namespace shoal::router {

struct RetryLimits {
  int32_t attempts_max = 4;                   // of one sequence, the first included
  int32_t crashes_max = 2;                    // of replicas under it: then it is the cause
  absl::Duration window = absl::Seconds(10);  // a failed sequence finds a replica by then
  bool exact = false;                         // never continue on another numerics profile
};

// What to tell a worker, or to do, in this order.
struct CancelAction {
  int32_t sequence = 0;
  size_t replica = 0;
};

struct Actions {
  std::vector<CancelAction> cancels;  // attempts to cancel at their workers
  std::vector<int32_t> routes;        // sequences that need a replica now
  std::vector<ChoiceEvent> events;
  std::optional<EndEvent> end;
  int32_t retries = 0;
  int64_t overrun_tokens = 0;
};

class Session {
 public:
  Session(RequestSpec spec, std::shared_ptr<const text::Tokenizer> tokenizer, RetryLimits limits);
  Session(const Session&) = delete;
  Session& operator=(const Session&) = delete;

  const RequestSpec& spec() const { return spec_; }
  bool ended() const { return ended_; }
  const Sequence& sequence(int32_t index) const { return *sequences_[static_cast<size_t>(index)]; }

  // Every sequence asks for a replica.
  Actions Start();
  // Features of the routing decision for a sequence; the caller adds the ordinal.
  RouteRequest RouteFor(int32_t sequence) const;
  // The replica that the first attempt of a sibling of the same prompt went to.
  std::optional<size_t> SiblingReplica(int32_t sequence) const;
  // The caller sends this to the chosen replica.
  SubmitValue Submit(int32_t sequence, const Exclusion& where, const std::string& fingerprint,
                     absl::Time now);
  // A delta of the sequence's open attempt (the caller dropped others).
  Actions OnDelta(int32_t sequence, SequenceDeltaValue delta, absl::Time now);
  // The sequence may have been what ended its replica; the loss or failure itself is told next.
  void Blame(int32_t sequence) { sequences_[static_cast<size_t>(sequence)]->Blame(); }
  // The replica of the open attempt is gone, stalled, or could not be told.
  Actions OnReplicaLost(int32_t sequence, const absl::Status& why, absl::Time now);
  // No replica can take the sequence now. Waits only if it had one before and may still get one.
  // `final` is the answer otherwise.
  Actions OnNoReplica(int32_t sequence, const absl::Status& final, absl::Time now);
  // A replica that could take the sequence does not now, but will: the time does not count.
  void Postpone(int32_t sequence, absl::Time now);
  // Ends the request: the client left, the deadline passed, the router stops.
  Actions Fail(const absl::Status& why);

 private:
  Actions Retry(int32_t sequence, const absl::Status& why, absl::Time now);
  void FailInto(const absl::Status& why, Actions& actions);
  void FinishIfDone(Actions& actions);
  RequestUsage Usage() const;

  const RequestSpec spec_;
  const RetryLimits limits_;
  std::vector<std::unique_ptr<Sequence>> sequences_;
  std::vector<std::optional<absl::Time>> retry_until_;  // per sequence, while it looks for another
  std::vector<absl::Status> last_failure_;
  std::string fingerprint_;
  bool ended_ = false;
};

}  // namespace shoal::router
