// SPDX-License-Identifier: Apache-2.0
// GenerateStream: one Generate or Chat call: the server's reactor and the session's sink.
#pragma once

#include <grpcpp/alarm.h>
#include <grpcpp/grpcpp.h>

#include <atomic>
#include <deque>
#include <memory>
#include <vector>

#include "absl/base/thread_annotations.h"
#include "base/mutex.h"
#include "router/frontend/generation_request.h"
#include "router/frontend/service.h"
#include "router/session/request_spec.h"
#include "shoal/v1/inference.pb.h"

namespace shoal::router {

// Keeps itself alive until gRPC is done with it; the dispatcher shares it as the sink. Writes are
// queued, because gRPC takes one at a time; the queue is bounded in bytes.
class GenerateStream final : public grpc::ServerWriteReactor<v1::GenerateResponse>,
                             public ClientSink,
                             public std::enable_shared_from_this<GenerateStream> {
 public:
  // Starts the call: admits, prepares on the pool, submits.
  static grpc::ServerWriteReactor<v1::GenerateResponse>* Start(
      Service* service, grpc::CallbackServerContext* context,
      absl::StatusOr<GenerationRequest> request, size_t request_bytes);

  GenerateStream(Service* service, grpc::CallbackServerContext* context)
      : service_(*service), context_(context) {}

  bool OnChoice(ChoiceEvent event) override;
  void OnWait() override {}  // HTTP/2 has its own pings
  void OnEnd(EndEvent end) override;

  void OnWriteDone(bool ok) override;
  void OnCancel() override;
  void OnDone() override;

 private:
  void Begin(GenerationRequest request, size_t request_bytes);
  void Push(v1::GenerateResponse response);
  void FinishOnce(const absl::Status& status);
  void WriteFront() ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);
  bool Stalled() const ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);
  void OnFlushTimeout();
  void Adopt(const RequestSpec& spec);

  Service& service_;
  grpc::CallbackServerContext* const context_;  // valid until OnDone
  uint64_t id_ = 0;
  std::atomic<bool> cancelled_{false};
  std::shared_ptr<GenerateStream> self_;
  // Set by Adopt, then used on the dispatcher's thread.
  std::shared_ptr<const text::Tokenizer> tokenizer_;
  std::vector<int32_t> prompt_tokens_;  // not sent yet
  bool logprobs_ = false;
  std::optional<v1::GenerateResponse> held_;  // a choice's last response: usage may belong to it

  Mutex mutex_;
  std::deque<v1::GenerateResponse> queue_ ABSL_GUARDED_BY(mutex_);  // the front is being written
  size_t queue_bytes_ ABSL_GUARDED_BY(mutex_) = 0;
  bool ended_ ABSL_GUARDED_BY(mutex_) = false;     // end_status_ is known
  bool finished_ ABSL_GUARDED_BY(mutex_) = false;  // Finish was called
  bool done_ ABSL_GUARDED_BY(mutex_) = false;      // context_ is gone
  absl::Time write_began_ ABSL_GUARDED_BY(mutex_);
  grpc::Alarm flush_alarm_ ABSL_GUARDED_BY(mutex_);  // the client takes what is left, or is cut off
  absl::Status end_status_ ABSL_GUARDED_BY(mutex_);
};

}  // namespace shoal::router
