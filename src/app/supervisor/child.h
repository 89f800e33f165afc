// SPDX-License-Identifier: Apache-2.0
// Child: one process the supervisor started from this binary.
#pragma once

#include <sys/types.h>

#include <string>
#include <vector>

#include "absl/status/statusor.h"

namespace shoal::app {

// What a child has said since the last look.
struct ChildReports {
  std::string address;  // where it listens: its first words
  bool progress = false;
  bool draining = false;
};

// A running child and the pipe through which it reports. Move-only.
class Child {
 public:
  // Starts this binary with `arguments` plus "--announce-fd N". The child is killed when this
  // process dies.
  static absl::StatusOr<Child> Start(const std::vector<std::string>& arguments);
  Child(Child&& other) noexcept;
  Child& operator=(Child&& other) noexcept;
  ~Child();  // closes descriptors; does not end the process

  pid_t pid() const { return pid_; }
  int announce_fd() const { return announce_fd_; }
  int pid_fd() const { return pid_fd_; }
  // Reads what has arrived. After the end of the pipe announce_fd() is -1.
  ChildReports ReadReports();
  void Signal(int signal) const;
  // The wait status if the process has ended.
  bool Reap(int* status);

 private:
  Child() = default;
  void TakeLines(ChildReports& reports);

  pid_t pid_ = -1;
  int announce_fd_ = -1;
  int pid_fd_ = -1;
  std::string unread_;      // the beginning of a line
  bool announced_ = false;  // the first line has come
};

// "exit code 3" or "signal 9".
std::string DescribeWaitStatus(int status);

}  // namespace shoal::app
