// SPDX-License-Identifier: Apache-2.0
#include "text/stop_matcher.h"

#include <algorithm>
#include <utility>

#include "absl/strings/match.h"
#include "base/check.h"

namespace shoal::text {

StopMatcher::StopMatcher(std::vector<std::string> stops, bool include_stop)
    : stops_(std::move(stops)), include_stop_(include_stop) {
  for (const std::string& stop : stops_) SHOAL_CHECK(!stop.empty());
}

StopMatcher::Result StopMatcher::Push(absl::string_view text) {
  if (stopped_) return {.text = "", .stopped = true};
  held_.append(text.data(), text.size());
  size_t best_start = std::string::npos;
  size_t best_end = std::string::npos;
  for (const std::string& stop : stops_) {
    const size_t start = held_.find(stop);
    if (start == std::string::npos) continue;
    const size_t end = start + stop.size();
    if (end < best_end || (end == best_end && start < best_start)) {
      best_start = start;
      best_end = end;
    }
  }
  if (best_end != std::string::npos) {
    stopped_ = true;
    std::string out = held_.substr(0, include_stop_ ? best_end : best_start);
    held_.clear();
    return {.text = std::move(out), .stopped = true};
  }
  const size_t send = held_.size() - HoldLength();
  std::string out = held_.substr(0, send);
  held_.erase(0, send);
  return {.text = std::move(out), .stopped = false};
}

// The longest end of held_ that begins some stop string.
size_t StopMatcher::HoldLength() const {
  size_t hold = 0;
  for (const std::string& stop : stops_) {
    for (size_t length = std::min(stop.size() - 1, held_.size()); length > hold; --length) {
      if (absl::EndsWith(held_, absl::string_view(stop).substr(0, length))) hold = length;
    }
  }
  return hold;
}

std::string StopMatcher::Finish() {
  std::string out = std::move(held_);
  held_.clear();
  return out;
}

}  // namespace shoal::text
