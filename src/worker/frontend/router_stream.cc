// SPDX-License-Identifier: Apache-2.0
#include "worker/frontend/router_stream.h"

#include <algorithm>
#include <string>

#include "absl/strings/str_cat.h"
#include "base/log.h"
#include "base/mutex.h"
#include "worker/frontend/convert.h"
#include "worker/frontend/stream_registry.h"

namespace shoal::worker {
namespace {

grpc::Status ToGrpc(const absl::Status& status) {
  return grpc::Status(static_cast<grpc::StatusCode>(status.code()), std::string(status.message()));
}

}  // namespace

RouterStream::RouterStream(const StreamContext& context, StreamId id,
                           grpc::CallbackServerContext* call)
    : context_(context),
      id_(id),
      call_(call),
      opened_(context.clock.Now()),
      queue_(context.limits.unsent_messages_max, context.limits.unsent_bytes_max),
      load_interval_(context.limits.load_interval),
      load_due_(absl::InfiniteFuture()) {}

void RouterStream::Begin() {
  self_ = shared_from_this();
  StartRead(&incoming_);
}

void RouterStream::Deliver(std::vector<EngineDelta> deltas) {
  v1::WorkerMessage message;
  {
    MutexLock lock(&mutex_);
    for (const EngineDelta& delta : deltas) {
      if (!delta.delta.finish.has_value()) continue;
      live_.erase({delta.ticket.client_sequence, delta.ticket.attempt});
    }
  }
  for (EngineDelta& delta : deltas) AppendDelta(std::move(delta), message.mutable_deltas());
  Send(std::move(message));
}

absl::Time RouterStream::Tick(absl::Time now, const v1::Load& load, bool force) {
  absl::Time next;
  bool overdue = false;
  {
    MutexLock lock(&mutex_);
    if (closing_.has_value()) return absl::InfiniteFuture();
    if (!greeted_) {
      next = opened_ + context_.limits.hello_deadline;
      if (now < next) return next;
      overdue = true;
    } else {
      if (now < load_due_ && !force) return load_due_;
      next = load_due_ = now + load_interval_;
      if (load_queued_) return next;  // a router that reads slowly gets fewer of them
      load_queued_ = true;
    }
  }
  if (overdue) {
    Close(absl::DeadlineExceededError("no Hello came"));
    return absl::InfiniteFuture();
  }
  v1::WorkerMessage message;
  *message.mutable_load() = load;
  Send(std::move(message));
  return next;
}

void RouterStream::Close(const absl::Status& status) {
  {
    MutexLock lock(&mutex_);
    if (!closing_.has_value()) closing_ = status;
  }
  Pump();
}

void RouterStream::Abandon(const absl::Status& status) {
  {
    MutexLock lock(&mutex_);
    if (!closing_.has_value()) closing_ = status;
    queue_.Clear();
  }
  Pump();
}

bool RouterStream::AwaitFlushed(absl::Duration timeout) const {
  MutexLock lock(&mutex_);
  const auto done = [this]() ABSL_NO_THREAD_SAFETY_ANALYSIS { return queue_.empty() && !writing_; };
  return mutex_.AwaitWithTimeout(absl::Condition(&done), timeout);
}

void RouterStream::OnReadDone(bool ok) {
  // The router has closed its side or is gone: nobody waits for these sequences any more.
  if (!ok) return Abandon(absl::OkStatus());
  const absl::Status status = Handle(incoming_);
  if (!status.ok()) {
    log::Warning("router stream {}: {}", id_.value(), status.ToString());
    return Close(status);
  }
  StartRead(&incoming_);
}

void RouterStream::OnWriteDone(bool ok) {
  {
    MutexLock lock(&mutex_);
    writing_ = false;
    if (outgoing_.has_load()) load_queued_ = false;
    if (!ok) {
      queue_.Clear();
      if (!closing_.has_value()) closing_ = absl::CancelledError("the router is gone");
    }
  }
  Pump();
}

void RouterStream::OnCancel() { Abandon(absl::CancelledError("the call was cancelled")); }

void RouterStream::OnDone() {
  // No reaction runs any more, so no submission of this stream follows the cancel.
  context_.engine.CancelAll(id_);
  context_.registry.Remove(id_);
  const std::shared_ptr<RouterStream> last = std::move(self_);
}

absl::Status RouterStream::Handle(v1::RouterMessage& message) {
  bool greeted;
  {
    MutexLock lock(&mutex_);
    greeted = greeted_;
  }
  if (!greeted && message.message_case() != v1::RouterMessage::kHello) {
    return absl::FailedPreconditionError("the first message must be Hello");
  }
  switch (message.message_case()) {
    case v1::RouterMessage::kHello:
      if (greeted) return absl::InvalidArgumentError("a second Hello");
      return HandleHello(message.hello());
    case v1::RouterMessage::kSubmit:
      return HandleSubmit(*message.mutable_submit());
    case v1::RouterMessage::kCancel:
      HandleCancel(message.cancel());
      return absl::OkStatus();
    case v1::RouterMessage::kDrain:
      context_.engine.StartDrain();
      return absl::OkStatus();
    case v1::RouterMessage::MESSAGE_NOT_SET:
      break;
  }
  // A kind that a newer router knows: it must not change what the known ones mean.
  return absl::OkStatus();
}

absl::Status RouterStream::HandleHello(const v1::Hello& hello) {
  if (hello.protocol() < kProtocolVersionMin || hello.protocol() > kProtocolVersion + 1) {
    return absl::FailedPreconditionError(
        absl::StrCat("the router speaks protocol ", hello.protocol(), ", this worker ",
                     kProtocolVersionMin, " to ", kProtocolVersion + 1));
  }
  v1::WorkerMessage message;
  *message.mutable_welcome() = ToWelcome(context_.identity);
  log::Info("router {:x} connected as stream {}", hello.router_incarnation(), id_.value());
  // Before loads may be sent: the Welcome says which incarnation they are of.
  Send(std::move(message));
  {
    MutexLock lock(&mutex_);
    greeted_ = true;
    if (hello.load_interval_ms() > 0) {
      load_interval_ =
          std::clamp(absl::Milliseconds(int64_t{hello.load_interval_ms()}),
                     context_.limits.load_interval_min, context_.limits.load_interval_max);
    }
    load_due_ = absl::InfinitePast();
  }
  context_.registry.Wake(/*force_loads=*/false);
  return absl::OkStatus();
}

absl::Status RouterStream::HandleSubmit(v1::Submit& submit) {
  const scheduler::SequenceId id(context_.next_sequence.fetch_add(1));
  const ClientKey key{submit.sequence(), submit.attempt()};
  {
    MutexLock lock(&mutex_);
    if (!live_.emplace(key, LiveSequence{id}).second) {
      return absl::InvalidArgumentError(absl::StrCat("sequence ", key.first, " attempt ",
                                                     key.second, " already runs on this stream"));
    }
  }
  // Only its key is needed if it is refused below.
  v1::Submit refused;
  refused.set_sequence(submit.sequence());
  refused.set_attempt(submit.attempt());
  absl::StatusOr<Submission> submission =
      ToSubmission(std::move(submit), id_, id, context_.identity, context_.limits);
  if (!submission.ok()) {
    Reject(refused, submission.status());
    return absl::OkStatus();
  }
  const absl::Status status = context_.engine.Submit(*std::move(submission));
  if (!status.ok()) Reject(refused, status);
  return absl::OkStatus();
}

void RouterStream::Reject(const v1::Submit& submit, const absl::Status& status) {
  EngineDelta delta{
      .ticket = {.stream = id_, .client_sequence = submit.sequence(), .attempt = submit.attempt()},
      .delta = {},
      .error_code = status.code(),
      .rejected = true};
  delta.delta.finish = scheduler::FinishReason::kError;
  delta.delta.error = std::string(status.message());
  std::vector<EngineDelta> deltas;
  deltas.push_back(std::move(delta));
  Deliver(std::move(deltas));
}

void RouterStream::HandleCancel(const v1::Cancel& cancel) {
  scheduler::SequenceId id;
  {
    MutexLock lock(&mutex_);
    const auto it = live_.find({cancel.sequence(), cancel.attempt()});
    // Unknown or ended: its last delta is on the way or was sent. At most one cancel a sequence
    // goes on.
    if (it == live_.end() || it->second.cancelled) return;
    it->second.cancelled = true;
    id = it->second.id;
  }
  context_.engine.Cancel(id);
}

void RouterStream::Send(v1::WorkerMessage message) {
  bool overflow = false;
  {
    MutexLock lock(&mutex_);
    if (closing_.has_value()) return;
    overflow = !queue_.Push(std::move(message));
  }
  if (!overflow) return Pump();
  log::Warning("router stream {} does not read: cancelled", id_.value());
  CancelCall(absl::ResourceExhaustedError("the router does not read what is sent"));
}

void RouterStream::CancelCall(const absl::Status& status) {
  {
    MutexLock lock(&mutex_);
    if (finished_ || cancelling_) return;
    if (!closing_.has_value()) closing_ = status;
    queue_.Clear();
    cancelling_ = true;
  }
  call_->TryCancel();  // the call cannot end meanwhile, see Pump
  {
    MutexLock lock(&mutex_);
    cancelling_ = false;
  }
  Pump();
}

void RouterStream::Pump() {
  std::optional<absl::Status> finish;
  {
    MutexLock lock(&mutex_);
    if (writing_ || finished_ || cancelling_) return;
    if (std::optional<v1::WorkerMessage> next = queue_.Pop()) {
      outgoing_ = *std::move(next);
      writing_ = true;
    } else if (closing_.has_value()) {
      finished_ = true;
      finish = *closing_;
    } else {
      return;
    }
  }
  // Outside the lock, as reactions may follow at once; the flags keep it to one at a time.
  if (finish.has_value()) return Finish(ToGrpc(*finish));
  StartWrite(&outgoing_);
}

}  // namespace shoal::worker
