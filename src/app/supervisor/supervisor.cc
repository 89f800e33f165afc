// SPDX-License-Identifier: Apache-2.0
#include "app/supervisor/supervisor.h"

#include <poll.h>
#include <signal.h>
#include <sys/signalfd.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <cstdio>

#include "absl/strings/str_cat.h"
#include "absl/time/clock.h"
#include "base/log.h"
#include "base/status.h"

namespace shoal::app {
namespace {

// A wait that ends this much late means that this process stood still, perhaps with the machine.
constexpr absl::Duration kHeldUp = absl::Seconds(1);

}  // namespace

Supervisor::Supervisor(SupervisorOptions options)
    : options_(std::move(options)), router_(options_.limits) {
  for (const ProcessSpec& spec : options_.workers) {
    workers_.emplace_back(options_.limits);
    workers_.back().spec = spec;
  }
  router_.spec = options_.router;
  sigset_t signals;
  sigemptyset(&signals);
  sigaddset(&signals, SIGTERM);
  sigaddset(&signals, SIGINT);
  signal_fd_ = signalfd(-1, &signals, SFD_CLOEXEC | SFD_NONBLOCK);
}

Supervisor::~Supervisor() {
  for (Process* process : All()) {
    for (Child& child : process->child) {
      if (child.pid() <= 0) continue;
      child.Signal(SIGKILL);
      waitpid(child.pid(), nullptr, 0);
    }
  }
  if (signal_fd_ >= 0) close(signal_fd_);
}

std::vector<Supervisor::Process*> Supervisor::All() {
  std::vector<Process*> all;
  for (Process& worker : workers_) all.push_back(&worker);
  all.push_back(&router_);
  return all;
}

absl::Status Supervisor::Start(Process& process) {
  std::vector<std::string> arguments = process.spec.arguments;
  if (!process.address.empty() && &process != &router_) {
    const size_t colon = process.address.rfind(':');
    arguments.push_back(absl::StrCat("--port=", process.address.substr(colon + 1)));
  }
  SHOAL_ASSIGN_OR_RETURN(Child child, Child::Start(arguments));
  process.child.clear();
  process.child.push_back(std::move(child));
  process.started = absl::Now();
  process.liveness.OnStart(clock_.Now());
  process.restart_at = absl::InfiniteFuture();
  return absl::OkStatus();
}

absl::Status Supervisor::StartRouter() {
  for (const Process& worker : workers_) {
    router_.spec.arguments.push_back(
        absl::StrCat("--worker-address=", worker.spec.name, "=", worker.address));
  }
  return Start(router_);
}

absl::Status Supervisor::StartAll() {
  const absl::Time deadline = absl::Now() + options_.limits.start;
  for (Process& worker : workers_) SHOAL_RETURN_IF_ERROR(Start(worker));
  const auto missing = [this]() -> const Process* {
    for (const Process& worker : workers_) {
      if (!worker.announced) return &worker;
    }
    return router_.announced ? nullptr : &router_;
  };
  bool router_started = false;
  while (const Process* process = missing()) {
    if (process == &router_ && !router_started) {
      SHOAL_RETURN_IF_ERROR(StartRouter());
      router_started = true;
    }
    if (Wait(deadline)) return absl::CancelledError("stopped before everything had started");
    if (!first_failure_.empty()) return absl::InternalError(first_failure_);
    if (absl::Now() >= deadline) {
      return absl::DeadlineExceededError(absl::StrCat(process->spec.name, " was not ready within ",
                                                      absl::FormatDuration(options_.limits.start),
                                                      " (deadlines.start)"));
    }
  }
  return absl::OkStatus();
}

void Supervisor::TakeReports(Process& process, absl::Time monotonic_now) {
  const ChildReports reports = process.child.front().ReadReports();
  if (!reports.address.empty()) {
    log::Info("{} is up on {}", process.spec.name, reports.address);
    if (process.address.empty()) process.address = reports.address;
    process.announced = true;
  }
  if (reports.progress || !reports.address.empty()) process.liveness.OnProgress(monotonic_now);
  if (reports.draining) process.liveness.OnDrain(monotonic_now);
}

void Supervisor::KillHung() {
  for (Process* process : All()) {
    if (process->child.empty() || !process->liveness.Hung(clock_.Now())) continue;
    log::Error("{} has made no progress for {} ({}) and is killed", process->spec.name,
               absl::FormatDuration(process->liveness.limit()), process->liveness.limit_name());
    process->child.front().Signal(SIGKILL);
    process->liveness.OnEnd();
  }
}

void Supervisor::HandleExit(Process& process, bool restart) {
  int status = 0;
  if (!process.child.front().Reap(&status)) return;
  const bool failed = !WIFEXITED(status) || WEXITSTATUS(status) != 0;
  process.child.clear();
  process.liveness.OnEnd();
  if (!restart) {
    if (failed) {
      clean_ = false;
      log::Warning("{} ended with {} while draining", process.spec.name,
                   DescribeWaitStatus(status));
    }
    return;
  }
  if (!process.announced) {
    first_failure_ = absl::StrCat(process.spec.name, " ended with ", DescribeWaitStatus(status),
                                  " before it was ready; its message is above");
    return;
  }
  const absl::Time now = absl::Now();
  const absl::Duration delay = process.policy.NextDelay(now - process.started);
  process.restart_at = now + delay;
  log::Warning("{} ended with {}; restarting in {}", process.spec.name, DescribeWaitStatus(status),
               absl::FormatDuration(delay));
}

bool Supervisor::Wait(absl::Time until) {
  std::vector<pollfd> polls = {{signal_fd_, POLLIN, 0}};
  std::vector<Process*> owners = {nullptr};
  const absl::Time before = clock_.Now();
  for (Process* process : All()) {
    if (process->child.empty()) {
      until = std::min(until, process->restart_at);
      continue;
    }
    // Another clock, but only the difference matters.
    if (watching_) {
      until = std::min(until, absl::Now() + (process->liveness.deadline() - before));
    }
    polls.push_back({process->child.front().pid_fd(), POLLIN, 0});
    owners.push_back(process);
    if (process->child.front().announce_fd() >= 0) {
      polls.push_back({process->child.front().announce_fd(), POLLIN, 0});
      owners.push_back(process);
    }
  }
  const int64_t left_ms = absl::ToInt64Milliseconds(until - absl::Now());
  const int timeout = until == absl::InfiniteFuture()
                          ? -1
                          : static_cast<int>(std::clamp<int64_t>(left_ms + 1, 0, 1 << 30));
  if (poll(polls.data(), polls.size(), timeout) < 0) return false;
  const absl::Time now = clock_.Now();
  if (timeout >= 0 && now - before > absl::Milliseconds(timeout) + kHeldUp) {
    for (Process* process : All()) process->liveness.Forgive(now);
  }
  signalfd_siginfo info;
  const bool terminated = read(signal_fd_, &info, sizeof(info)) == sizeof(info);
  for (size_t i = 1; i < polls.size(); ++i) {
    Process& process = *owners[i];
    if (polls[i].revents == 0 || process.child.empty()) continue;
    if (polls[i].fd == process.child.front().announce_fd()) {
      TakeReports(process, now);
    } else {
      TakeReports(process, now);
      HandleExit(process, !draining_);
    }
  }
  return terminated;
}

absl::Status Supervisor::Run() {
  SHOAL_RETURN_IF_ERROR(StartAll());
  // The router's announcement names the addresses clients use.
  std::printf("serving on %s\n", router_.address.c_str());
  std::fflush(stdout);
  watching_ = true;
  while (!Wait(absl::InfiniteFuture())) {
    KillHung();
    for (Process* process : All()) {
      if (process->child.empty() && absl::Now() >= process->restart_at) {
        if (const absl::Status status = Start(*process); !status.ok()) {
          log::Error("cannot restart {}: {}", process->spec.name, std::string(status.message()));
          process->restart_at = absl::Now() + process->policy.NextDelay(absl::ZeroDuration());
        }
      }
    }
  }
  return Drain();
}

absl::Status Supervisor::Drain() {
  log::Info("draining: the router first, then the workers");
  draining_ = true;
  watching_ = false;
  const absl::Duration limit = options_.limits.drain;
  clean_ = Stop({&router_}, absl::Now() + limit) && clean_;
  std::vector<Process*> workers;
  for (Process& worker : workers_) workers.push_back(&worker);
  clean_ = Stop(workers, absl::Now() + limit) && clean_;
  return clean_ ? absl::OkStatus()
                : absl::InternalError("not everything ended cleanly; see the log above");
}

bool Supervisor::Stop(std::vector<Process*> processes, absl::Time until) {
  for (Process* process : processes) {
    for (const Child& child : process->child) child.Signal(SIGTERM);
  }
  const auto running = [&processes] {
    return std::any_of(processes.begin(), processes.end(),
                       [](const Process* process) { return !process->child.empty(); });
  };
  while (running() && absl::Now() < until) Wait(until);
  bool clean = true;
  for (Process* process : processes) {
    for (Child& child : process->child) {
      log::Error("{} did not end in time and is killed", process->spec.name);
      child.Signal(SIGKILL);
      waitpid(child.pid(), nullptr, 0);
      clean = false;
    }
    process->child.clear();
  }
  return clean;
}

}  // namespace shoal::app
