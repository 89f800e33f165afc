// SPDX-License-Identifier: Apache-2.0
// Clock: time as an argument, so that deciding code and tests never read the machine's clock.
#pragma once

#include "absl/time/clock.h"
#include "absl/time/time.h"

namespace shoal {

class Clock {
 public:
  virtual ~Clock() = default;
  virtual absl::Time Now() const = 0;
};

// The machine's clock. Thread-safe.
class RealClock final : public Clock {
 public:
  absl::Time Now() const override { return absl::Now(); }
};

// Moves only when told. Owned by one thread.
class VirtualClock final : public Clock {
 public:
  explicit VirtualClock(absl::Time start = absl::UnixEpoch()) : now_(start) {}
  absl::Time Now() const override { return now_; }
  void Advance(absl::Duration by) { now_ += by; }

 private:
  absl::Time now_;
};

}  // namespace shoal
