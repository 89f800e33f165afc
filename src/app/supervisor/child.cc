// SPDX-License-Identifier: Apache-2.0
#include "app/supervisor/child.h"

#include <fcntl.h>
#include <signal.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>
#include <utility>

#include "absl/strings/str_cat.h"
#include "app/supervisor/reporter.h"

namespace shoal::app {
namespace {

constexpr int kExecFailed = 127;
constexpr size_t kLineBytesMax = 4096;

// Runs in the forked child: only async-signal-safe calls.
[[noreturn]] void ExecuteChild(pid_t parent, char* const* arguments) {
  prctl(PR_SET_PDEATHSIG, SIGKILL);
  if (getppid() != parent) _exit(kExecFailed);
  setpgid(0, 0);  // Ctrl-C reaches the supervisor alone, which then drains
  sigset_t none;
  sigemptyset(&none);
  sigprocmask(SIG_SETMASK, &none, nullptr);
  execv("/proc/self/exe", arguments);
  _exit(kExecFailed);
}

}  // namespace

absl::StatusOr<Child> Child::Start(const std::vector<std::string>& arguments) {
  int pipe_fds[2];
  if (pipe2(pipe_fds, O_CLOEXEC) != 0) {
    return absl::InternalError(absl::StrCat("pipe: ", std::strerror(errno)));
  }
  std::vector<std::string> words = {"shoal"};
  words.insert(words.end(), arguments.begin(), arguments.end());
  words.push_back(absl::StrCat("--announce-fd=", pipe_fds[1]));
  std::vector<char*> pointers;
  for (std::string& word : words) pointers.push_back(word.data());
  pointers.push_back(nullptr);
  const pid_t parent = getpid();
  const pid_t pid = fork();
  if (pid == 0) {
    fcntl(pipe_fds[1], F_SETFD, 0);
    ExecuteChild(parent, pointers.data());
  }
  close(pipe_fds[1]);
  if (pid < 0) {
    close(pipe_fds[0]);
    return absl::InternalError(absl::StrCat("fork: ", std::strerror(errno)));
  }
  fcntl(pipe_fds[0], F_SETFL, O_NONBLOCK);
  Child child;
  child.pid_ = pid;
  child.announce_fd_ = pipe_fds[0];
  child.pid_fd_ = static_cast<int>(syscall(SYS_pidfd_open, pid, 0));
  if (child.pid_fd_ < 0) {
    const int error = errno;
    kill(pid, SIGKILL);
    waitpid(pid, nullptr, 0);
    return absl::InternalError(absl::StrCat("pidfd_open: ", std::strerror(error)));
  }
  fcntl(child.pid_fd_, F_SETFD, FD_CLOEXEC);
  return child;
}

Child::Child(Child&& other) noexcept
    : pid_(std::exchange(other.pid_, -1)),
      announce_fd_(std::exchange(other.announce_fd_, -1)),
      pid_fd_(std::exchange(other.pid_fd_, -1)),
      unread_(std::move(other.unread_)),
      announced_(other.announced_) {}

Child& Child::operator=(Child&& other) noexcept {
  std::swap(pid_, other.pid_);
  std::swap(announce_fd_, other.announce_fd_);
  std::swap(pid_fd_, other.pid_fd_);
  std::swap(unread_, other.unread_);
  std::swap(announced_, other.announced_);
  return *this;
}

Child::~Child() {
  if (announce_fd_ >= 0) close(announce_fd_);
  if (pid_fd_ >= 0) close(pid_fd_);
}

ChildReports Child::ReadReports() {
  ChildReports reports;
  char buffer[512];
  while (announce_fd_ >= 0) {
    const ssize_t got = read(announce_fd_, buffer, sizeof(buffer));
    if (got > 0) {
      unread_.append(buffer, static_cast<size_t>(got));
      TakeLines(reports);
      if (unread_.size() <= kLineBytesMax) continue;
    } else if (got < 0 && errno == EINTR) {
      continue;
    } else if (got < 0 && errno == EAGAIN) {
      break;
    }
    close(announce_fd_);
    announce_fd_ = -1;
  }
  return reports;
}

void Child::TakeLines(ChildReports& reports) {
  size_t begin = 0;
  for (size_t end; (end = unread_.find('\n', begin)) != std::string::npos; begin = end + 1) {
    const std::string line = unread_.substr(begin, end - begin);
    if (!std::exchange(announced_, true)) {
      reports.address = line;
    } else if (line == kProgressLine) {
      reports.progress = true;
    } else if (line == kDrainLine) {
      reports.draining = true;
    }
  }
  unread_.erase(0, begin);
}

void Child::Signal(int signal) const {
  if (pid_ > 0) kill(pid_, signal);
}

bool Child::Reap(int* status) {
  if (pid_ <= 0 || waitpid(pid_, status, WNOHANG) != pid_) return false;
  pid_ = -1;
  return true;
}

std::string DescribeWaitStatus(int status) {
  if (WIFSIGNALED(status)) return absl::StrCat("signal ", WTERMSIG(status));
  return absl::StrCat("exit code ", WEXITSTATUS(status));
}

}  // namespace shoal::app
