// SPDX-License-Identifier: Apache-2.0
#include "worker/engine/engine_inbox.h"

#include <utility>

#include "absl/strings/str_cat.h"
#include "base/mutex.h"

namespace shoal::worker {

absl::Status EngineInbox::Submit(Submission submission) {
  MutexLock lock(&mutex_);
  if (closed_) return absl::UnavailableError("the worker has stopped");
  if (submissions_ >= submissions_max_) {
    return absl::ResourceExhaustedError(
        absl::StrCat(submissions_max_, " submissions are not yet taken up, the bound"));
  }
  ++submissions_;
  commands_.push_back(std::move(submission));
  return absl::OkStatus();
}

void EngineInbox::Push(Command command) {
  MutexLock lock(&mutex_);
  if (!closed_) commands_.push_back(std::move(command));
}

void EngineInbox::OnStep(StepReport report) {
  MutexLock lock(&mutex_);
  reports_.push_back(std::move(report));
}

void EngineInbox::Close() {
  MutexLock lock(&mutex_);
  closed_ = true;
}

void EngineInbox::TakeAll(absl::Duration timeout, Batch* batch) {
  batch->commands.clear();
  batch->reports.clear();
  MutexLock lock(&mutex_);
  mutex_.AwaitWithTimeout(absl::Condition(this, &EngineInbox::Readable), timeout);
  std::swap(batch->commands, commands_);
  std::swap(batch->reports, reports_);
  batch->closed = closed_;
  submissions_ = 0;
}

}  // namespace shoal::worker
