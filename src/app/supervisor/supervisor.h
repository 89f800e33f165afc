// SPDX-License-Identifier: Apache-2.0
// Supervisor: the processes of this host. A child that ends, or hangs and is then killed, is
// started again with back-off while the others go on; SIGTERM and SIGINT drain.
#pragma once

#include <map>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/time/time.h"
#include "app/supervisor/child.h"
#include "app/supervisor/liveness.h"
#include "app/supervisor/restart_policy.h"
#include "worker/engine/monotonic_clock.h"

namespace shoal::app {

struct ProcessSpec {
  std::string name;                    // "chat/0" or "router"
  std::vector<std::string> arguments;  // without the binary
};

struct SupervisorOptions {
  std::vector<ProcessSpec> workers;
  // The router starts once each worker has announced its address, with
  // "--worker-address NAME=ADDRESS" for each.
  ProcessSpec router;
  LivenessLimits limits;
};

// Owned by one thread, which must have blocked SIGTERM and SIGINT.
class Supervisor {
 public:
  explicit Supervisor(SupervisorOptions options);
  ~Supervisor();  // kills and reaps what still runs

  // Starts everything and supervises until a termination signal has been handled: OK after a clean
  // drain. An error when the first start fails; then nothing is left running.
  absl::Status Run();

 private:
  struct Process {
    explicit Process(const LivenessLimits& limits) : liveness(limits) {}
    ProcessSpec spec;
    std::vector<Child> child;  // none or one
    RestartPolicy policy;
    Liveness liveness;
    absl::Time started, restart_at = absl::InfiniteFuture();
    std::string address;     // of the first announcement; kept over restarts
    bool announced = false;  // by any run
  };

  absl::Status StartAll();
  absl::Status Start(Process& process);
  absl::Status StartRouter();
  // Waits for children, announcements, signals or `until`; true when a termination signal came.
  bool Wait(absl::Time until);
  void TakeReports(Process& process, absl::Time monotonic_now);
  void KillHung();
  void HandleExit(Process& process, bool restart);
  absl::Status Drain();
  // Signals SIGTERM and waits until `until`; then SIGKILL. False when one had to be killed or
  // failed.
  bool Stop(std::vector<Process*> processes, absl::Time until);
  std::vector<Process*> All();

  const SupervisorOptions options_;
  std::vector<Process> workers_;
  Process router_;
  int signal_fd_ = -1;
  const worker::MonotonicClock clock_;  // of liveness: a suspended machine's time does not count
  std::string first_failure_;           // of a child that ended before it announced
  bool draining_ = false;
  bool watching_ = false;  // everything has started: what hangs is killed
  bool clean_ = true;
};

}  // namespace shoal::app
