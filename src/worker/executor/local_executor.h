// SPDX-License-Identifier: Apache-2.0
// LocalExecutor: a replica of one rank, run by a thread of this process. Plans travel encoded
// through a ControlChannel, as they do to ranks in other processes.
#pragma once

#include <memory>
#include <thread>

#include "absl/status/status.h"
#include "parallel/control_channel.h"
#include "worker/executor/executor.h"
#include "worker/executor/rank.h"

namespace shoal::worker {

class LocalExecutor final : public Executor {
 public:
  // At most `messages_max` plans and pings are unread at once; the caller keeps below it.
  LocalExecutor(const RankParts& parts, size_t messages_max);
  ~LocalExecutor() override;

  void Start(StepSink& sink) override;
  absl::Status Execute(const scheduler::StepPlan& plan) override;
  absl::Status Ping() override;

 private:
  void Run(StepSink& sink);
  StepReport Handle(std::vector<uint8_t> message);

  Rank rank_;  // of the rank's thread once it runs
  const std::unique_ptr<parallel::ControlChannel> channel_;
  std::thread thread_;
};

}  // namespace shoal::worker
