// SPDX-License-Identifier: Apache-2.0
// Engine: the thread that owns a replica's scheduler. It takes commands, plans steps (up to D in
// flight), hands them to the executor, applies the results and passes deltas on. It decides nothing
// itself and waits without polling.
#pragma once

#include <cstdint>
#include <deque>
#include <map>
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include "absl/base/thread_annotations.h"
#include "absl/status/status.h"
#include "absl/time/time.h"
#include "base/clock.h"
#include "base/mutex.h"
#include "scheduler/scheduler.h"
#include "worker/engine/engine_inbox.h"
#include "worker/engine/engine_types.h"
#include "worker/engine/throughput.h"
#include "worker/executor/executor.h"

namespace shoal::worker {

struct EngineOptions {
  size_t submissions_max = 1024;                     // not yet taken up by the engine's thread
  absl::Duration step_deadline = absl::Seconds(60);  // `deadlines.step`
  absl::Duration self_check = absl::Seconds(1);      // between pings while idle
  absl::Duration throughput_fade = absl::Seconds(10);
};

// Every accepted sequence ends with exactly one finish reason; a submission that is not accepted
// gives exactly one delta with `rejected`. Methods are thread-safe.
class Engine {
 public:
  Engine(const EngineOptions& options, std::unique_ptr<scheduler::Scheduler> scheduler,
         std::unique_ptr<Executor> executor, const Clock& clock);
  ~Engine();  // stops; sequences that live are dropped

  // Called once. `sink` outlives the engine or is no longer called after Stop.
  void Start(DeltaSink& sink);
  // Ends the thread; what lives gets no further delta. Waits for a step that is running.
  void Stop();

  // Not OK: not taken (inbox full, stopped). Otherwise the sink gets its deltas.
  absl::Status Submit(Submission submission) { return inbox_.Submit(std::move(submission)); }
  void Cancel(scheduler::SequenceId id) { inbox_.Push(CancelSequence{id}); }
  // Cancels all sequences of a stream, also those submitted but not yet taken up.
  void CancelAll(StreamId stream) { inbox_.Push(CancelStream{stream}); }
  // From here on submissions are rejected with UNAVAILABLE.
  void StartDrain() { inbox_.Push(BeginDrain{}); }

  // Waits until a drain has begun and nothing lives. OK then means: accepted == ended, all blocks
  // free, the scheduler's invariants hold. DEADLINE_EXCEEDED tells what still lives.
  absl::Status AwaitDrained(absl::Duration timeout) const;
  // OK after `timeout`, or why the ranks failed.
  absl::Status AwaitFailure(absl::Duration timeout) const;

  EngineLoad load() const;

 private:
  struct Live {
    Ticket ticket;
    absl::Time deadline;
  };
  struct InFlight {
    scheduler::StepNumber step;
    int64_t tokens = 0;
    absl::Time published;
  };

  void Run();
  void Turn(EngineInbox::Batch& batch);
  void Handle(Submission& submission);
  void Handle(const CancelSequence& cancel);
  void Handle(const CancelStream& cancel);
  void Handle(const BeginDrain& drain);
  void HandleReport(StepReport& report);
  void PlanSteps();
  void SelfCheck();
  void NoticeStall();
  void Collect(scheduler::Applied applied);
  void Reject(const Submission& submission, const absl::Status& status);
  void Fail(const absl::Status& status);
  void Flush();
  void PublishLoad();
  absl::Status CheckDrained() const;
  bool HasWork() const { return !live_.empty() || !in_flight_.empty() || ping_in_flight_; }
  absl::Time NextWake() const;

  const EngineOptions options_;
  const Clock& clock_;
  EngineInbox inbox_;
  DeltaSink* sink_ = nullptr;
  std::thread thread_;

  // Owned by the engine's thread.
  const std::unique_ptr<scheduler::Scheduler> scheduler_;
  std::unique_ptr<Executor> executor_;
  absl::Time now_;  // of this turn
  std::map<scheduler::SequenceId, Live> live_;
  std::set<std::pair<absl::Time, scheduler::SequenceId>> deadlines_;  // finite ones of live_
  std::deque<InFlight> in_flight_;
  bool ping_in_flight_ = false;
  bool draining_ = false;
  bool stall_logged_ = false;
  absl::Status failure_;
  uint64_t steps_ = 0;
  int64_t accepted_ = 0;
  int64_t ended_ = 0;
  absl::Time progress_;   // of the last completed step, or the start of work after idling
  absl::Time last_step_;  // completed
  Throughput throughput_;
  std::map<StreamId, std::vector<EngineDelta>> outgoing_;  // of this turn

  mutable Mutex mutex_;
  EngineLoad load_ ABSL_GUARDED_BY(mutex_);
  // Set once a drain has begun and nothing lives.
  std::optional<absl::Status> drained_ ABSL_GUARDED_BY(mutex_);
};

}  // namespace shoal::worker
