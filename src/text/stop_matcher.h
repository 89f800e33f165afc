// SPDX-License-Identifier: Apache-2.0
// StopMatcher: finds stop strings in streamed text and holds back what may become one.
#pragma once

#include <cstddef>
#include <string>
#include <vector>

#include "absl/strings/string_view.h"

namespace shoal::text {

// One stream's state; not thread-safe. Empty stop strings are the caller's error.
class StopMatcher {
 public:
  // include_stop: the matched string itself stays in the text.
  StopMatcher(std::vector<std::string> stops, bool include_stop);
  struct Result {
    std::string text;      // safe to send
    bool stopped = false;  // a stop string was found; text ends before (or after) it
  };
  // Holds back at most the longest stop string minus one byte. The match that completes first in
  // the text wins; of several that complete at the same byte, the longest. The outcome does not
  // depend on how the text is cut into pieces. After a stop, everything is dropped.
  Result Push(absl::string_view text);
  // What was held back, at the end of the stream. It never contains a stop string.
  std::string Finish();

 private:
  size_t HoldLength() const;

  std::vector<std::string> stops_;
  bool include_stop_;
  std::string held_;
  bool stopped_ = false;
};

}  // namespace shoal::text
