// SPDX-License-Identifier: Apache-2.0
// Throughput: tokens per second of busy time, with older steps fading out. Pure.
#pragma once

#include <cmath>
#include <cstdint>

#include "absl/time/time.h"

namespace shoal::worker {

class Throughput {
 public:
  // `fade`: busy time after which a step counts 1/e of what it did.
  explicit Throughput(absl::Duration fade) : fade_seconds_(absl::ToDoubleSeconds(fade)) {}

  // A step of `tokens` tokens took `busy`.
  void Add(int64_t tokens, absl::Duration busy) {
    const double seconds = absl::ToDoubleSeconds(busy);
    if (seconds <= 0) return;
    const double keep = std::exp(-seconds / fade_seconds_);
    tokens_ = tokens_ * keep + static_cast<double>(tokens);
    seconds_ = seconds_ * keep + seconds;
  }

  // 0 before the first step.
  double tokens_per_second() const { return seconds_ > 0 ? tokens_ / seconds_ : 0; }

 private:
  const double fade_seconds_;
  double tokens_ = 0;
  double seconds_ = 0;
};

}  // namespace shoal::worker
