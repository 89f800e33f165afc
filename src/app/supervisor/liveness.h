// SPDX-License-Identifier: Apache-2.0
// Liveness: when a running child counts as hung. Pure.
//
// A child says where it listens once it is ready, and from then on reports each bit of progress it
// makes (a step, or a self-check while idle). What is alive but silent makes none: it is stopped,
// wedged or starved, and only a new process helps.
#pragma once

#include "absl/time/time.h"

namespace shoal::app {

struct LivenessLimits {
  absl::Duration start = absl::Seconds(120);  // from its start to its readiness
  absl::Duration hang = absl::Seconds(120);   // between two reports of progress
  absl::Duration drain = absl::Seconds(35);   // from its notice that it drains to its end
};

// Owned by one thread. Times are of a clock that only moves forward.
class Liveness {
 public:
  explicit Liveness(const LivenessLimits& limits) : limits_(limits) {}

  void OnStart(absl::Time now) { Expect(Phase::kStarting, now); }
  // It is ready, or made progress since.
  void OnProgress(absl::Time now) {
    if (phase_ == Phase::kStarting || phase_ == Phase::kRunning) Expect(Phase::kRunning, now);
  }
  // It finishes what it has and then ends by itself.
  void OnDrain(absl::Time now) { Expect(Phase::kDraining, now); }
  // It has ended or is being ended: nothing is expected of it.
  void OnEnd() { phase_ = Phase::kEnded; }
  // The watcher itself was held up, and so, perhaps, was the child: it gets its time again.
  void Forgive(absl::Time now) {
    if (phase_ != Phase::kEnded) Expect(phase_, now);
  }

  // When it counts as hung unless something is heard; InfiniteFuture when nothing is expected.
  absl::Time deadline() const {
    return phase_ == Phase::kEnded ? absl::InfiniteFuture() : since_ + limit();
  }
  bool Hung(absl::Time now) const { return now >= deadline(); }
  // The limit that holds now, and the config's name for it.
  absl::Duration limit() const {
    if (phase_ == Phase::kStarting) return limits_.start;
    return phase_ == Phase::kDraining ? limits_.drain : limits_.hang;
  }
  const char* limit_name() const {
    if (phase_ == Phase::kStarting) return "deadlines.start";
    return phase_ == Phase::kDraining ? "drain_seconds" : "deadlines.hang";
  }

 private:
  enum class Phase { kStarting, kRunning, kDraining, kEnded };

  void Expect(Phase phase, absl::Time now) {
    phase_ = phase;
    since_ = now;
  }

  const LivenessLimits limits_;
  Phase phase_ = Phase::kEnded;
  absl::Time since_ = absl::InfinitePast();
};

}  // namespace shoal::app
