// SPDX-License-Identifier: Apache-2.0
#include "worker/engine/engine.h"

#include <algorithm>
#include <variant>

#include "absl/strings/str_cat.h"
#include "base/check.h"
#include "base/log.h"
#include "base/mutex.h"

namespace shoal::worker {
namespace {

// Work that no step moves is planned again after this long at the latest.
constexpr absl::Duration kReplan = absl::Seconds(1);

}  // namespace

Engine::Engine(const EngineOptions& options, std::unique_ptr<scheduler::Scheduler> scheduler,
               std::unique_ptr<Executor> executor, const Clock& clock)
    : options_(options),
      clock_(clock),
      inbox_(options.submissions_max),
      scheduler_(std::move(scheduler)),
      executor_(std::move(executor)),
      now_(clock.Now()),
      progress_(now_),
      last_step_(now_),
      throughput_(options.throughput_fade) {
  load_.stats = scheduler_->stats();
}

Engine::~Engine() { Stop(); }

void Engine::Start(DeltaSink& sink) {
  SHOAL_CHECK(!thread_.joinable());
  sink_ = &sink;
  executor_->Start(inbox_);
  thread_ = std::thread([this] { Run(); });
}

void Engine::Stop() {
  inbox_.Close();
  if (thread_.joinable()) thread_.join();
  executor_.reset();
}

absl::Status Engine::AwaitDrained(absl::Duration timeout) const {
  MutexLock lock(&mutex_);
  const auto done = [this]() ABSL_NO_THREAD_SAFETY_ANALYSIS { return drained_.has_value(); };
  mutex_.AwaitWithTimeout(absl::Condition(&done), timeout);
  if (drained_.has_value()) return *drained_;
  return absl::DeadlineExceededError(absl::StrCat(
      "not drained after ", absl::FormatDuration(timeout), ": ", load_.accepted - load_.ended,
      " of ", load_.accepted, " accepted sequences have not ended"));
}

absl::Status Engine::AwaitFailure(absl::Duration timeout) const {
  MutexLock lock(&mutex_);
  const auto failed = [this]() ABSL_NO_THREAD_SAFETY_ANALYSIS { return !load_.failure.ok(); };
  mutex_.AwaitWithTimeout(absl::Condition(&failed), timeout);
  return load_.failure;
}

EngineLoad Engine::load() const {
  MutexLock lock(&mutex_);
  return load_;
}

void Engine::Run() {
  EngineInbox::Batch batch;
  while (true) {
    inbox_.TakeAll(NextWake() - clock_.Now(), &batch);
    if (batch.closed) return;
    Turn(batch);
  }
}

void Engine::Turn(EngineInbox::Batch& batch) {
  now_ = clock_.Now();
  const bool had_work = HasWork();
  const bool was_draining = draining_;
  const bool was_failed = !failure_.ok();
  for (Command& command : batch.commands) {
    std::visit([this](auto& value) { Handle(value); }, command);
  }
  for (StepReport& report : batch.reports) HandleReport(report);
  if (failure_.ok()) {
    Collect(scheduler_->TakePending());
    PlanSteps();
    SelfCheck();
  }
  // Those that are due are the scheduler's now: it ends them in this or one of its next plans.
  while (!deadlines_.empty() && deadlines_.begin()->first <= now_) {
    deadlines_.erase(deadlines_.begin());
  }
  if (!had_work && HasWork()) progress_ = now_;
  NoticeStall();
  // The load first: who sees the last delta of a sequence also sees it counted as ended.
  PublishLoad();
  Flush();
  if (draining_ != was_draining || failure_.ok() == was_failed) sink_->OnConditionChanged();
}

void Engine::Handle(Submission& submission) {
  if (!failure_.ok()) return Reject(submission, absl::UnavailableError(failure_.message()));
  if (draining_) return Reject(submission, absl::UnavailableError("the replica is draining"));
  scheduler::Request& request = submission.request;
  request.arrival = now_;
  request.deadline = now_ + submission.time_left;
  const scheduler::SequenceId id = request.id;
  const absl::Time deadline = request.deadline;
  const absl::Status status = scheduler_->Submit(std::move(request), now_);
  if (!status.ok()) return Reject(submission, status);
  ++accepted_;
  const bool fresh = live_.emplace(id, Live{submission.ticket, deadline}).second;
  SHOAL_CHECK(fresh);
  if (deadline != absl::InfiniteFuture()) deadlines_.emplace(deadline, id);
}

void Engine::Handle(const CancelSequence& cancel) {
  if (live_.contains(cancel.sequence)) scheduler_->Cancel(cancel.sequence);
}

void Engine::Handle(const CancelStream& cancel) {
  for (const auto& [id, live] : live_) {
    if (live.ticket.stream == cancel.stream) scheduler_->Cancel(id);
  }
}

void Engine::Handle(const BeginDrain&) { draining_ = true; }

void Engine::HandleReport(StepReport& report) {
  if (!failure_.ok()) return;
  if (!report.status.ok()) return Fail(report.status);
  ++steps_;
  progress_ = now_;
  stall_logged_ = false;
  if (report.self_check) {
    ping_in_flight_ = false;
    return;
  }
  if (in_flight_.empty() || in_flight_.front().step != report.result.step) {
    return Fail(absl::InternalError(
        absl::StrCat("the ranks reported step ", report.result.step.value(), ", expected ",
                     in_flight_.empty() ? "none" : absl::StrCat(in_flight_.front().step.value()))));
  }
  const InFlight done = in_flight_.front();
  in_flight_.pop_front();
  throughput_.Add(done.tokens, now_ - std::max(done.published, last_step_));
  last_step_ = now_;
  Collect(scheduler_->Apply(report.result, now_));
}

void Engine::PlanSteps() {
  while (true) {
    const scheduler::StepPlan plan = scheduler_->Plan(now_);
    Collect(scheduler_->TakePending());
    if (plan.empty()) return;
    const absl::Status status = executor_->Execute(plan);
    if (!status.ok()) return Fail(status);
    in_flight_.push_back({.step = plan.step, .tokens = plan.tokens(), .published = now_});
  }
}

void Engine::SelfCheck() {
  if (HasWork() || !failure_.ok() || now_ - progress_ < options_.self_check) return;
  const absl::Status status = executor_->Ping();
  if (!status.ok()) return Fail(status);
  ping_in_flight_ = true;
}

void Engine::NoticeStall() {
  if (!HasWork() || stall_logged_ || !failure_.ok()) return;
  if (now_ - progress_ < options_.step_deadline) return;
  stall_logged_ = true;
  log::Error("no step was completed for {} ({} sequences live, {} steps in flight): stalled",
             absl::FormatDuration(now_ - progress_), live_.size(), in_flight_.size());
}

void Engine::Collect(scheduler::Applied applied) {
  for (scheduler::Delta& delta : applied.deltas) {
    const auto it = live_.find(delta.sequence);
    SHOAL_CHECK(it != live_.end());
    EngineDelta out{.ticket = it->second.ticket, .delta = std::move(delta)};
    if (out.delta.finish.has_value()) {
      if (*out.delta.finish == scheduler::FinishReason::kError) {
        out.error_code = absl::StatusCode::kInternal;
      }
      deadlines_.erase({it->second.deadline, it->first});
      live_.erase(it);
      ++ended_;
    }
    outgoing_[out.ticket.stream].push_back(std::move(out));
  }
}

void Engine::Reject(const Submission& submission, const absl::Status& status) {
  EngineDelta out{.ticket = submission.ticket, .delta = {}};
  out.delta.sequence = submission.request.id;
  out.delta.finish = scheduler::FinishReason::kError;
  out.delta.error = std::string(status.message());
  out.error_code = status.code();
  out.rejected = true;
  outgoing_[out.ticket.stream].push_back(std::move(out));
}

void Engine::Fail(const absl::Status& status) {
  failure_ = status;
  log::Error("the ranks failed, {} sequences end with an error: {}", live_.size(),
             status.ToString());
  for (const auto& [id, live] : live_) {
    EngineDelta out{.ticket = live.ticket, .delta = {}};
    out.delta.sequence = id;
    out.delta.finish = scheduler::FinishReason::kError;
    out.delta.error = absl::StrCat("the replica failed: ", status.message());
    out.error_code = absl::StatusCode::kUnavailable;
    outgoing_[live.ticket.stream].push_back(std::move(out));
    ++ended_;
  }
  live_.clear();
  deadlines_.clear();
  in_flight_.clear();
  ping_in_flight_ = false;
}

void Engine::Flush() {
  for (auto& [stream, deltas] : outgoing_) sink_->Deliver(stream, std::move(deltas));
  outgoing_.clear();
}

void Engine::PublishLoad() {
  EngineLoad load{.steps = steps_,
                  .stats = scheduler_->stats(),
                  .tokens_per_second = throughput_.tokens_per_second(),
                  .accepted = accepted_,
                  .ended = ended_,
                  .draining = draining_,
                  .idle = live_.empty() && in_flight_.empty(),
                  .failure = failure_,
                  .waiting_since = HasWork() ? progress_ : absl::InfiniteFuture()};
  std::optional<absl::Status> drained;
  if (draining_ && load.idle) drained = CheckDrained();
  MutexLock lock(&mutex_);
  load_ = std::move(load);
  if (drained.has_value()) drained_ = std::move(drained);
}

absl::Status Engine::CheckDrained() const {
  if (!failure_.ok()) return failure_;
  const scheduler::SchedulerStats stats = scheduler_->stats();
  if (accepted_ != ended_ || !scheduler_->idle()) {
    return absl::InternalError(absl::StrCat(accepted_, " sequences were accepted but ", ended_,
                                            " ended; the scheduler is ",
                                            scheduler_->idle() ? "" : "not ", "idle"));
  }
  if (stats.blocks_free != stats.blocks_total) {
    return absl::InternalError(absl::StrCat(stats.blocks_total - stats.blocks_free,
                                            " KV blocks of ", stats.blocks_total,
                                            " are still held although every sequence has ended"));
  }
  return scheduler_->CheckInvariants();
}

absl::Time Engine::NextWake() const {
  if (!failure_.ok()) return absl::InfiniteFuture();
  if (!HasWork()) return progress_ + options_.self_check;
  absl::Time wake = absl::InfiniteFuture();
  if (!deadlines_.empty()) wake = deadlines_.begin()->first;
  if (in_flight_.empty() && !live_.empty()) wake = std::min(wake, now_ + kReplan);
  if (!stall_logged_) wake = std::min(wake, progress_ + options_.step_deadline);
  return wake;
}

}  // namespace shoal::worker
