// SPDX-License-Identifier: Apache-2.0
// MonotonicClock: time that only moves forward, whatever is done to the machine's wall clock. Its
// zero means nothing: only differences do. Thread-safe.
#pragma once

#include <chrono>

#include "absl/time/time.h"
#include "base/clock.h"

namespace shoal::worker {

class MonotonicClock final : public Clock {
 public:
  absl::Time Now() const override {
    return absl::UnixEpoch() +
           absl::FromChrono(std::chrono::steady_clock::now().time_since_epoch());
  }
};

}  // namespace shoal::worker
