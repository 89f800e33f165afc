// SPDX-License-Identifier: Apache-2.0
// EngineInbox: the one place the engine's thread waits on. Commands come from front-end threads,
// step reports from rank threads.
#pragma once

#include <cstddef>
#include <variant>
#include <vector>

#include "absl/base/thread_annotations.h"
#include "absl/status/status.h"
#include "absl/time/time.h"
#include "base/mutex.h"
#include "scheduler/types/ids.h"
#include "worker/engine/engine_types.h"
#include "worker/executor/executor.h"

namespace shoal::worker {

struct CancelSequence {
  scheduler::SequenceId sequence;
};
struct CancelStream {
  StreamId stream;
};
struct BeginDrain {};

using Command = std::variant<Submission, CancelSequence, CancelStream, BeginDrain>;

// Thread-safe. Everything is taken in the order in which it came, commands and reports apart.
class EngineInbox final : public StepSink {
 public:
  // `submissions_max` bounds unread submissions. Other commands are bounded by their senders: one
  // cancel per live sequence, one per stream. Reports are bounded by the plans in flight.
  explicit EngineInbox(size_t submissions_max) : submissions_max_(submissions_max) {}

  // RESOURCE_EXHAUSTED when full, UNAVAILABLE once closed.
  absl::Status Submit(Submission submission);
  // Dropped once closed.
  void Push(Command command);
  void OnStep(StepReport report) override;
  void Close();

  struct Batch {
    std::vector<Command> commands;
    std::vector<StepReport> reports;
    bool closed = false;
  };
  // Waits until there is something, the inbox is closed, or `timeout` passes; then moves everything
  // into `batch`, whose own storage is reused.
  void TakeAll(absl::Duration timeout, Batch* batch);

 private:
  bool Readable() const ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_) {
    return closed_ || !commands_.empty() || !reports_.empty();
  }

  const size_t submissions_max_;
  Mutex mutex_;
  std::vector<Command> commands_ ABSL_GUARDED_BY(mutex_);
  std::vector<StepReport> reports_ ABSL_GUARDED_BY(mutex_);
  size_t submissions_ ABSL_GUARDED_BY(mutex_) = 0;
  bool closed_ ABSL_GUARDED_BY(mutex_) = false;
};

}  // namespace shoal::worker
