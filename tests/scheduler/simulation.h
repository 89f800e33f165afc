// SPDX-License-Identifier: Apache-2.0
// A seeded simulation of a scheduler with random options and a random load, executed by a
// ShadowExecutor. Every step checks the scheduler's invariants and the plan; the end checks that
// every request got exactly the output it would get alone, once, and that nothing is left behind.
#pragma once

#include <cstdint>
#include <deque>
#include <map>
#include <memory>
#include <random>
#include <set>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/time/time.h"
#include "scheduler/scheduler.h"
#include "scheduler/shadow_executor.h"

namespace shoal::scheduler {

// What a request gets when it is alone.
struct SoloRun {
  std::vector<TokenId> tokens;
  FinishReason finish = FinishReason::kLength;
};
SoloRun RunAlone(const Request& request, const SchedulerOptions& options);

class Simulation {
 public:
  explicit Simulation(uint64_t seed);

  // Runs `steps` random steps, then drains. The first thing that is wrong, or OK.
  absl::Status Run(int steps);

  // For comparing two runs, and to see that the cases were met.
  const std::vector<uint64_t>& digests() const { return digests_; }
  SchedulerStats stats() const { return scheduler_->stats(); }
  const SchedulerOptions& options() const { return options_; }
  int64_t refused() const { return refused_; }
  int64_t references() const { return references_; }  // slices whose input was in flight
  const std::map<FinishReason, int64_t>& finishes() const { return finishes_; }

 private:
  struct Client {
    Request request;
    std::vector<TokenId> tokens;
    int32_t scored = 1;  // next prompt position expected
    bool ended = false;
  };
  int64_t Draw(int64_t low, int64_t high);  // both included
  bool Chance(int64_t percent) { return Draw(1, 100) <= percent; }
  void DrawOptions();
  Request DrawRequest();
  absl::Status SubmitSome();
  absl::Status PlanOne();
  absl::Status ApplyOne();
  absl::Status Receive(const Applied& applied);
  absl::Status ReceiveDelta(const Delta& delta);
  absl::Status Finish(Client& client, const Delta& delta);
  absl::Status RandomStep();
  absl::Status Drain();

  std::mt19937_64 random_;
  SchedulerOptions options_;
  std::vector<std::vector<TokenId>> stems_;  // prompts start with one of these
  std::unique_ptr<Scheduler> scheduler_;
  std::unique_ptr<ShadowExecutor> executor_;
  std::deque<StepResult> results_;
  StepNumber applied_;
  absl::Time now_ = absl::UnixEpoch();
  uint64_t next_id_ = 1;
  std::map<SequenceId, Client> clients_;
  std::set<uint64_t> cached_;  // event hashes that are known to be reusable
  std::vector<uint64_t> digests_;
  int64_t refused_ = 0;
  int64_t references_ = 0;
  std::map<FinishReason, int64_t> finishes_;
};

}  // namespace shoal::scheduler
