// SPDX-License-Identifier: Apache-2.0
// Driver: a scheduler with a ShadowExecutor, stepped by hand, for tests of single situations.
#pragma once

#include <gtest/gtest.h>

#include <cstdint>
#include <deque>
#include <map>
#include <memory>
#include <numeric>
#include <optional>
#include <utility>
#include <vector>

#include "scheduler/scheduler.h"
#include "scheduler/shadow_executor.h"

namespace shoal::scheduler {

inline SchedulerOptions Options(int64_t blocks) {
  SchedulerOptions options;
  options.block_tokens = 4;
  options.groups = {{.window = 0, .blocks = blocks}};
  options.max_context = 100000;
  options.max_batch_tokens = 64;
  options.max_sequences = 8;
  options.max_waiting = 100;
  return options;
}

inline Request Prompt(uint64_t id, int32_t tokens, int32_t max_tokens, TokenId first = 0) {
  Request request;
  request.id = SequenceId(id);
  request.tokens.resize(static_cast<size_t>(tokens));
  std::iota(request.tokens.begin(), request.tokens.end(), first);
  request.prompt_tokens = tokens;
  request.stop.max_tokens = max_tokens;
  return request;
}

struct Output {
  std::vector<TokenId> tokens;
  std::vector<TokenOutput> prompt;
  std::optional<FinishReason> finish;
  int32_t cached_tokens = 0;
  int finished_at = -1;  // step
  int first_token_at = -1;
};

// A scheduler with a shadow executor; fails the test at the first broken rule.
class Driver {
 public:
  explicit Driver(const SchedulerOptions& options)
      : options_(options), executor_(options), scheduler_(*CreateScheduler(options)) {}

  absl::Status Submit(const Request& request) {
    executor_.Announce(request.id, request.cache_namespace);
    return scheduler_->Submit(request, now_);
  }
  StepPlan Plan() {
    StepPlan plan = scheduler_->Plan(now_);
    if (plan.empty()) return plan;
    auto result = executor_.Execute(plan, applied_);
    EXPECT_TRUE(result.ok()) << result.status();
    results_.push_back(*std::move(result));
    return plan;
  }
  void Apply() {
    if (results_.empty()) return;
    ++step_;
    const StepResult result = results_.front();
    results_.pop_front();
    applied_ = result.step;
    Take(scheduler_->Apply(result, now_));
    const absl::Status status = scheduler_->CheckInvariants();
    EXPECT_TRUE(status.ok()) << status;
  }
  void Step() {
    Plan();
    Apply();
    Take(scheduler_->TakePending());
    now_ += absl::Milliseconds(100);
  }
  void RunUntilIdle(int steps_max) {
    while (!scheduler_->idle() && steps_max-- > 0) Step();
    EXPECT_TRUE(scheduler_->idle());
  }
  void Take(const Applied& applied) {
    for (const Delta& delta : applied.deltas) {
      Output& output = outputs_[delta.sequence.value()];
      EXPECT_FALSE(output.finish.has_value()) << "something after the end";
      if (!delta.tokens.empty() && output.first_token_at < 0) output.first_token_at = step_;
      for (const TokenOutput& token : delta.tokens) output.tokens.push_back(token.token);
      output.prompt.insert(output.prompt.end(), delta.prompt.begin(), delta.prompt.end());
      output.finish = delta.finish;
      output.cached_tokens = delta.cached_tokens;
      if (delta.finish.has_value()) output.finished_at = step_;
    }
  }
  Scheduler& scheduler() { return *scheduler_; }
  Output& output(uint64_t id) { return outputs_[id]; }
  absl::Time now() const { return now_; }
  void Wait(absl::Duration time) { now_ += time; }

 private:
  const SchedulerOptions options_;
  ShadowExecutor executor_;
  std::unique_ptr<Scheduler> scheduler_;
  std::deque<StepResult> results_;
  StepNumber applied_;
  absl::Time now_ = absl::UnixEpoch();
  int step_ = 0;
  std::map<uint64_t, Output> outputs_;
};

}  // namespace shoal::scheduler
