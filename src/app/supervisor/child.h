// SPDX-License-Identifier: Apache-2.0
// Child: one process the supervisor started from this binary.
#pragma once

#include <sys/types.h>

#include <string>
#include <vector>

#include "absl/status/statusor.h"

namespace shoal::app {

// A running child and the pipe through which it reports its address. Move-only.
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
  // Reads what has arrived; the line once it is complete, empty before. After the end of the pipe
  // announce_fd() is -1.
  std::string ReadAnnouncement();
  void Signal(int signal) const;
  // The wait status if the process has ended.
  bool Reap(int* status);

 private:
  Child() = default;

  pid_t pid_ = -1;
  int announce_fd_ = -1;
  int pid_fd_ = -1;
  std::string announcement_;
};

// "exit code 3" or "signal 9".
std::string DescribeWaitStatus(int status);

}  // namespace shoal::app
