// SPDX-License-Identifier: Apache-2.0
// StopMatcher: finds stop strings in streamed text and holds back what may become one.
#pragma once

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
  // Holds back at most the longest stop string minus one byte; earliest match wins, at one place
  // the first completed.
  Result Push(absl::string_view text);
  // What was held back, at the end of the stream.
  std::string Finish();

 private:
  std::vector<std::string> stops_;
  bool include_stop_;
  std::string held_;
  bool stopped_ = false;
};

}  // namespace shoal::text
