// SPDX-License-Identifier: Apache-2.0
// RestartPolicy: when an ended child is started again. Pure.
#pragma once

#include <algorithm>
#include <optional>

#include "absl/time/time.h"

namespace shoal::app {

// Exponential back-off that a long healthy run resets. Owned by one thread.
class RestartPolicy {
 public:
  static constexpr absl::Duration kFirstDelay = absl::Milliseconds(500);
  static constexpr absl::Duration kLongestDelay = absl::Seconds(30);
  static constexpr absl::Duration kHealthyRun = absl::Seconds(60);

  // How long to wait before the next start, after a run of `ran`.
  absl::Duration NextDelay(absl::Duration ran) {
    if (ran >= kHealthyRun) failures_ = 0;
    const absl::Duration delay =
        std::min(kLongestDelay, kFirstDelay * static_cast<double>(1u << std::min(failures_, 10u)));
    ++failures_;
    return delay;
  }

 private:
  unsigned failures_ = 0;
};

}  // namespace shoal::app
