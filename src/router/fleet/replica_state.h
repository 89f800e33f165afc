// SPDX-License-Identifier: Apache-2.0
// ReplicaState: what the router concludes about one replica from what it hears of it. Pure: time is
// an argument.
#pragma once

#include <cstdint>
#include <deque>
#include <optional>
#include <string>

#include "absl/status/status.h"
#include "absl/time/time.h"
#include "router/fleet/wire.h"
#include "router/policy/fleet_snapshot.h"

namespace shoal::router {

struct HealthLimits {
  absl::Duration start = absl::Seconds(120);   // not heard of for this long after the start: down
  absl::Duration step = absl::Seconds(60);     // work but no step for this long: stalled
  absl::Duration silence = absl::Seconds(10);  // no message for this long: stalled
  absl::Duration backoff_first = absl::Milliseconds(50);
  absl::Duration backoff_max = absl::Seconds(2);
};

// What a replica must be to serve its model here.
struct ReplicaExpectation {
  std::string model;
  int32_t vocab_size = 0;      // the tokenizer's; the model may have more rows
  std::string weights_digest;  // of its peers; empty: any
};

class ReplicaState {
 public:
  ReplicaState(std::string name, std::string model, std::string address, HealthLimits limits,
               absl::Time now);

  // A connection attempt begins; returns its generation.
  uint64_t OnOpen(absl::Time now);
  // FAILED_PRECONDITION when the replica is not the one expected: it is then unused until it says
  // Welcome anew on another connection.
  absl::Status OnWelcome(const WelcomeValue& welcome, const ReplicaExpectation& expected,
                         absl::Time now);
  // FAILED_PRECONDITION for a report of another incarnation than was welcomed.
  absl::Status OnLoad(const LoadValue& load, absl::Time now);
  void OnOther(absl::Time now) { heard_at_ = now; }
  // Its sequences were taken away because it stalled. Once it recovers, they may come back.
  void OnStalled() { ++stalls_; }
  // `jitter` in [0, 1) spreads the reconnects.
  void OnClosed(absl::Time now, double jitter);

  // Health at `now`; changes only with time or the events above.
  ReplicaHealth Health(absl::Time now) const;
  bool connected() const { return connected_; }
  bool welcomed() const { return welcome_.has_value(); }
  uint64_t generation() const { return generation_; }
  const std::string& weights_digest() const { return weights_digest_; }
  // Not connected and the back-off has passed.
  bool ShouldOpen(absl::Time now) const { return !connected_ && now >= open_at_; }
  // Silent for so long that the connection itself is to be given up.
  bool ShouldGiveUp(absl::Time now) const;

  void OnSubmitted(int64_t tokens);
  void OnEnded();
  ReplicaView View(absl::Time now) const;

 private:
  struct Credit {
    int64_t tokens = 0;
    int64_t reports = 0;  // load reports seen when it was given
  };

  const std::string name_, model_, address_;
  const HealthLimits limits_;
  const absl::Time started_at_;
  bool connected_ = false;
  bool ever_welcomed_ = false;
  std::string refusal_;
  std::optional<WelcomeValue> welcome_;
  std::string weights_digest_;  // of the last Welcome
  LoadValue load_;
  absl::Time heard_at_;
  absl::Time open_at_;
  absl::Duration backoff_;
  uint64_t generation_ = 0;
  uint64_t stalls_ = 0;
  int64_t reports_ = 0;
  std::deque<Credit> credits_;
  int64_t credit_tokens_ = 0;
  int64_t inflight_ = 0;
};

}  // namespace shoal::router
