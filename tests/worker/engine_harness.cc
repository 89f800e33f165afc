// SPDX-License-Identifier: Apache-2.0
#include "worker/engine_harness.h"

#include <utility>

#include "base/check.h"
#include "base/mutex.h"
#include "worker/executor/local_executor.h"

namespace shoal::worker {

void RecordingSink::Deliver(StreamId, std::vector<EngineDelta> deltas) {
  MutexLock lock(&mutex_);
  for (EngineDelta& delta : deltas) {
    Outcome& outcome = outcomes_[delta.ticket.client_sequence];
    SHOAL_CHECK(outcome.finishes == 0);  // nothing follows the end
    for (scheduler::TokenOutput& token : delta.delta.tokens) {
      outcome.tokens.push_back(token.token);
      outcome.outputs.push_back(std::move(token));
    }
    for (scheduler::TokenOutput& token : delta.delta.prompt) {
      outcome.prompt.push_back(std::move(token));
    }
    outcome.cached_tokens = delta.delta.cached_tokens;
    if (!delta.delta.finish.has_value()) continue;
    ++outcome.finishes;
    outcome.reason = *delta.delta.finish;
    outcome.error = delta.delta.error;
    outcome.code = delta.error_code;
    outcome.rejected = delta.rejected;
  }
}

Outcome RecordingSink::AwaitEnd(uint64_t client_sequence) {
  MutexLock lock(&mutex_);
  const auto ended = [&]() ABSL_NO_THREAD_SAFETY_ANALYSIS {
    return outcomes_[client_sequence].finishes > 0;
  };
  SHOAL_CHECK(mutex_.AwaitWithTimeout(absl::Condition(&ended), absl::Seconds(60)));
  return outcomes_[client_sequence];
}

void RecordingSink::AwaitTokens(uint64_t client_sequence, size_t tokens) {
  MutexLock lock(&mutex_);
  const auto enough = [&]() ABSL_NO_THREAD_SAFETY_ANALYSIS {
    const Outcome& outcome = outcomes_[client_sequence];
    return outcome.finishes > 0 || outcome.tokens.size() >= tokens;
  };
  SHOAL_CHECK(mutex_.AwaitWithTimeout(absl::Condition(&enough), absl::Seconds(60)));
}

Outcome RecordingSink::Get(uint64_t client_sequence) {
  MutexLock lock(&mutex_);
  return outcomes_[client_sequence];
}

EngineHarness::EngineHarness(const HarnessOptions& options) : decoder_(options.model) {
  scheduler::SchedulerOptions scheduler_options{
      .block_tokens = static_cast<int32_t>(options.model.block_tokens),
      .groups = {},
      .max_context = options.max_context,
      .max_batch_tokens = options.max_batch_tokens,
      .max_sequences = options.max_sequences,
      .max_waiting = options.max_waiting,
      .plans_in_flight = options.plans_in_flight,
      .prefix_cache = options.prefix_cache,
      .weights_digest = "fake"};
  for (size_t group = 0; group < options.model.blocks.size(); ++group) {
    scheduler_options.groups.push_back(
        {.window = static_cast<int32_t>(options.model.windows[group]),
         .blocks = options.model.blocks[group]});
  }
  auto scheduler = scheduler::CreateScheduler(scheduler_options);
  SHOAL_CHECK(scheduler.ok());
  const RankParts parts{
      .decoder = &decoder_, .sampling = &sampling_, .stream = &stream_, .pools = decoder_.pools()};
  engine_ = std::make_unique<Engine>(
      options.engine, *std::move(scheduler),
      std::make_unique<LocalExecutor>(parts, static_cast<size_t>(options.plans_in_flight) + 1),
      clock_);
  engine_->Start(sink_);
}

EngineHarness::~EngineHarness() { decoder_.Open(); }

void EngineHarness::Submit(uint64_t client, scheduler::Request request, uint64_t stream) {
  request.id = scheduler::SequenceId(client);
  const absl::Time deadline = request.deadline;
  Submission submission{.ticket = {.stream = StreamId(stream), .client_sequence = client},
                        .request = std::move(request)};
  if (deadline != absl::InfiniteFuture()) submission.time_left = deadline - absl::UnixEpoch();
  SHOAL_CHECK(engine_->Submit(std::move(submission)).ok());
}

scheduler::Request MakeRequest(int32_t length, int32_t max_tokens, int32_t salt) {
  scheduler::Request request;
  for (int32_t i = 0; i < length; ++i) request.tokens.push_back((i * 7 + salt * 13 + 3) % 97);
  request.prompt_tokens = length;
  request.sampling.temperature = 0;
  request.stop.max_tokens = max_tokens;
  return request;
}

}  // namespace shoal::worker
