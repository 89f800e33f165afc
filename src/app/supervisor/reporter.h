// SPDX-License-Identifier: Apache-2.0
// Reporter: a child's side of the pipe to its supervisor: lines of text, the first the address.
#pragma once

#include <cstdint>
#include <string>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/time/time.h"
#include "app/flags.h"

namespace shoal::app {

inline constexpr char kProgressLine[] = "progress";
inline constexpr char kDrainLine[] = "draining";

// Owned by one thread. Without --announce-fd nobody listens and nothing is written.
class Reporter {
 public:
  // How often a process looks whether it has progress to report.
  static constexpr absl::Duration kInterval = absl::Milliseconds(500);

  // Takes the descriptor that --announce-fd names.
  static absl::StatusOr<Reporter> Open(const Flags& flags);
  Reporter(Reporter&& other) noexcept;
  Reporter& operator=(Reporter&&) = delete;
  ~Reporter();

  // The process is ready at `address`.
  absl::Status Announce(const std::string& address);
  // Reports progress if `mark` differs from the last call's. A supervisor that does not read loses
  // reports; it is never waited for.
  void ReportProgress(int64_t mark);
  // No more reports of progress: what runs is being finished.
  void ReportDrain();

 private:
  explicit Reporter(int fd) : fd_(fd) {}
  bool Write(const std::string& line);

  int fd_;  // -1: nobody listens
  int64_t mark_ = -1;
};

}  // namespace shoal::app
