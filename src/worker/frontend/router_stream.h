// SPDX-License-Identifier: Apache-2.0
// RouterStream: one router's Serve call. Reads Hello, Submit, Cancel and Drain; writes Welcome,
// deltas and loads through a bounded queue. A router that does not read has its call cancelled.
// However the call ends, all of its sequences are cancelled.
#pragma once

#include <grpcpp/grpcpp.h>

#include <atomic>
#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <utility>
#include <vector>

#include "absl/base/thread_annotations.h"
#include "absl/status/status.h"
#include "absl/time/time.h"
#include "base/clock.h"
#include "base/mutex.h"
#include "shoal/v1/worker.grpc.pb.h"
#include "worker/engine/engine.h"
#include "worker/frontend/limits.h"
#include "worker/frontend/write_queue.h"

namespace shoal::worker {

class StreamRegistry;

// What all streams of a front end share; outlives them.
struct StreamContext {
  Engine& engine;
  StreamRegistry& registry;
  const WorkerIdentity& identity;
  const FrontendLimits& limits;
  const Clock& clock;
  std::atomic<uint64_t>& next_sequence;
};

// Thread-safe. Keeps itself alive until gRPC is done with it.
class RouterStream final : public grpc::ServerBidiReactor<v1::RouterMessage, v1::WorkerMessage>,
                           public std::enable_shared_from_this<RouterStream> {
 public:
  RouterStream(const StreamContext& context, StreamId id, grpc::CallbackServerContext* call);

  // Starts reading. Called once, after the stream is registered.
  void Begin();
  // Sends the growth of this stream's sequences.
  void Deliver(std::vector<EngineDelta> deltas);
  // Sends a Load when one is due (or `force`) and the previous one has left the queue; ends the
  // call when Hello is overdue. Returns when to ask again.
  absl::Time Tick(absl::Time now, const v1::Load& load, bool force);
  // Ends the call with `status` once what is queued has been sent.
  void Close(const absl::Status& status);
  // Waits until nothing is queued or being sent; false after `timeout`.
  bool AwaitFlushed(absl::Duration timeout) const;

  StreamId id() const { return id_; }

  void OnReadDone(bool ok) override;
  void OnWriteDone(bool ok) override;
  void OnCancel() override;
  void OnDone() override;

 private:
  // How the router names a sequence.
  using ClientKey = std::pair<uint64_t, uint32_t>;
  struct LiveSequence {
    scheduler::SequenceId id;
    bool cancelled = false;
  };

  absl::Status Handle(v1::RouterMessage& message);
  absl::Status HandleHello(const v1::Hello& hello);
  absl::Status HandleSubmit(v1::Submit& submit);
  void HandleCancel(const v1::Cancel& cancel);
  void Reject(const v1::Submit& submit, const absl::Status& status);
  void Send(v1::WorkerMessage message);
  // Drops what is queued and ends the call.
  void Abandon(const absl::Status& status);
  // Like Abandon, and does not wait for a write that is stuck.
  void CancelCall(const absl::Status& status);
  // Starts the next write, or the end of the call, unless a write is running.
  void Pump();

  const StreamContext context_;
  const StreamId id_;
  grpc::CallbackServerContext* const call_;
  const absl::Time opened_;
  std::shared_ptr<RouterStream> self_;  // until OnDone

  v1::RouterMessage incoming_;  // of the running read
  v1::WorkerMessage outgoing_;  // of the running write

  mutable Mutex mutex_;
  WriteQueue queue_ ABSL_GUARDED_BY(mutex_);
  bool writing_ ABSL_GUARDED_BY(mutex_) = false;
  bool load_queued_ ABSL_GUARDED_BY(mutex_) = false;
  bool finished_ ABSL_GUARDED_BY(mutex_) = false;
  bool cancelling_ ABSL_GUARDED_BY(mutex_) = false;
  std::optional<absl::Status> closing_ ABSL_GUARDED_BY(mutex_);
  bool greeted_ ABSL_GUARDED_BY(mutex_) = false;
  absl::Duration load_interval_ ABSL_GUARDED_BY(mutex_);
  absl::Time load_due_ ABSL_GUARDED_BY(mutex_);
  std::map<ClientKey, LiveSequence> live_ ABSL_GUARDED_BY(mutex_);
};

}  // namespace shoal::worker
