// SPDX-License-Identifier: Apache-2.0
#include "router/fleet/replica_stream.h"

#include <grpcpp/grpcpp.h>

#include <deque>
#include <utility>

#include "base/mutex.h"
#include "router/fleet/wire_codec.h"
#include "shoal/v1/worker.grpc.pb.h"

namespace shoal::router {
namespace {

constexpr int kMessageBytesMax = 256 << 20;
constexpr int kReconnectMinMs = 20;
constexpr int kReconnectMaxMs = 1000;

// Keeps itself alive until OnDone. A hold stays until the stream is closed, because reads and
// writes are started from other threads than the reactions.
class Stream final : public ReplicaStream,
                     public grpc::ClientBidiReactor<v1::RouterMessage, v1::WorkerMessage>,
                     public std::enable_shared_from_this<Stream> {
 public:
  Stream(StreamEvents events, size_t queue_max)
      : events_(std::move(events)), queue_max_(queue_max) {}

  void Start(v1::Worker::Stub* stub, const StreamOptions& options) {
    self_ = shared_from_this();
    if (!options.cluster_token.empty()) {
      context_.AddMetadata("shoal-cluster-token", options.cluster_token);
    }
    stub->async()->Serve(&context_, this);
    AddHold();
    Enqueue(HelloMessage(options.router_incarnation, options.load_interval_ms));
    StartRead(&incoming_);
    StartCall();
  }

  void Submit(const SubmitValue& submit) override { Enqueue(SubmitMessage(submit)); }
  void Cancel(uint64_t wire_id, uint32_t attempt) override {
    Enqueue(CancelMessage(wire_id, attempt));
  }

  void ReadNext() override {
    MutexLock lock(&mutex_);
    if (!closed_) StartRead(&incoming_);
  }

  void Close() override {
    context_.TryCancel();
    // With no read pending nobody would notice the cancellation.
    Shut();
  }

  void OnReadDone(bool ok) override {
    if (!ok) {
      Shut();
      return;
    }
    events_.on_message(FromMessage(incoming_));
  }

  void OnWriteDone(bool ok) override {
    MutexLock lock(&mutex_);
    queue_.pop_front();
    if (!ok) queue_.clear();
    if (!closed_ && !queue_.empty()) StartWrite(&queue_.front());
  }

  void OnDone(const grpc::Status& status) override {
    absl::Status reason = status.ok()
                              ? absl::UnavailableError("the replica ended the stream")
                              : absl::Status(static_cast<absl::StatusCode>(status.error_code()),
                                             status.error_message());
    events_.on_closed(std::move(reason));
    self_.reset();  // may delete this
  }

 private:
  void Enqueue(v1::RouterMessage message) {
    bool overflow = false;
    {
      MutexLock lock(&mutex_);
      if (closed_) return;
      overflow = queue_.size() >= queue_max_;
      if (!overflow) {
        queue_.push_back(std::move(message));
        if (queue_.size() == 1) StartWrite(&queue_.front());
      }
    }
    if (overflow) Close();
  }

  void Shut() {
    {
      MutexLock lock(&mutex_);
      if (closed_) return;
      closed_ = true;
    }
    RemoveHold();
  }

  const StreamEvents events_;
  const size_t queue_max_;
  grpc::ClientContext context_;
  v1::WorkerMessage incoming_;  // the pending read's
  std::shared_ptr<Stream> self_;
  Mutex mutex_;
  bool closed_ ABSL_GUARDED_BY(mutex_) = false;
  std::deque<v1::RouterMessage> queue_ ABSL_GUARDED_BY(mutex_);  // the front is being written
};

class Channel final : public ReplicaChannel {
 public:
  explicit Channel(const StreamOptions& options) : options_(options) {
    grpc::ChannelArguments arguments;
    arguments.SetMaxReceiveMessageSize(kMessageBytesMax);
    arguments.SetMaxSendMessageSize(kMessageBytesMax);
    arguments.SetInt(GRPC_ARG_USE_LOCAL_SUBCHANNEL_POOL, 1);
    arguments.SetInt(GRPC_ARG_INITIAL_RECONNECT_BACKOFF_MS, kReconnectMinMs);
    arguments.SetInt(GRPC_ARG_MIN_RECONNECT_BACKOFF_MS, kReconnectMinMs);
    arguments.SetInt(GRPC_ARG_MAX_RECONNECT_BACKOFF_MS, kReconnectMaxMs);
    arguments.SetInt(GRPC_ARG_ENABLE_HTTP_PROXY, 0);
    stub_ = v1::Worker::NewStub(
        grpc::CreateCustomChannel(options.address, grpc::InsecureChannelCredentials(), arguments));
  }

  std::shared_ptr<ReplicaStream> Open(StreamEvents events) override {
    auto stream = std::make_shared<Stream>(std::move(events), options_.queue_max);
    stream->Start(stub_.get(), options_);
    return stream;
  }

 private:
  const StreamOptions options_;
  std::unique_ptr<v1::Worker::Stub> stub_;
};

}  // namespace

std::unique_ptr<ReplicaChannel> MakeReplicaChannel(const StreamOptions& options) {
  return std::make_unique<Channel>(options);
}

}  // namespace shoal::router
