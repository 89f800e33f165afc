// SPDX-License-Identifier: Apache-2.0
#include "app/supervisor/reporter.h"

#include <fcntl.h>
#include <unistd.h>

#include <utility>

#include "base/status.h"

namespace shoal::app {

absl::StatusOr<Reporter> Reporter::Open(const Flags& flags) {
  if (!flags.Has("announce-fd")) return Reporter(-1);
  SHOAL_ASSIGN_OR_RETURN(const int64_t fd, flags.GetInt("announce-fd", -1, 3, 1 << 20));
  Reporter reporter(static_cast<int>(fd));
  if (fcntl(reporter.fd_, F_SETFD, FD_CLOEXEC) != 0 ||
      fcntl(reporter.fd_, F_SETFL, O_NONBLOCK) != 0) {
    return absl::InvalidArgumentError("--announce-fd is not an open descriptor");
  }
  return reporter;
}

Reporter::Reporter(Reporter&& other) noexcept
    : fd_(std::exchange(other.fd_, -1)), mark_(other.mark_) {}

Reporter::~Reporter() {
  if (fd_ >= 0) close(fd_);
}

bool Reporter::Write(const std::string& line) {
  const std::string text = line + "\n";
  return fd_ < 0 || write(fd_, text.data(), text.size()) == static_cast<ssize_t>(text.size());
}

absl::Status Reporter::Announce(const std::string& address) {
  if (Write(address)) return absl::OkStatus();
  return absl::InternalError("cannot report to the supervisor: --announce-fd is not writable");
}

void Reporter::ReportProgress(int64_t mark) {
  if (std::exchange(mark_, mark) == mark) return;
  // A full pipe means that the supervisor does not read: the reports it has not read will do.
  [[maybe_unused]] const bool written = Write(kProgressLine);
}

void Reporter::ReportDrain() {
  // If it is lost, the supervisor counts from the last report it has.
  [[maybe_unused]] const bool written = Write(kDrainLine);
}

}  // namespace shoal::app
