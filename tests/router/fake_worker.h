// SPDX-License-Identifier: Apache-2.0
// FakeWorker: a replica's leader under a test's control. It emits what it is told, when it is told:
// nothing in it depends on time.
#pragma once

#include <grpcpp/grpcpp.h>

#include <deque>
#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "absl/base/thread_annotations.h"
#include "absl/status/status.h"
#include "absl/time/time.h"
#include "base/mutex.h"
#include "shoal/v1/worker.grpc.pb.h"

namespace shoal::router {

inline constexpr absl::Duration kPatience = absl::Seconds(20);

struct FakeWorkerOptions {
  std::string model = "tiny";
  int32_t vocab_size = 260;
  int32_t max_context = 4096;
  int64_t pool_tokens = 4096;
  uint64_t incarnation = 7;
  std::string fingerprint = "fp-a";
  std::string weights_digest = "w";
  int port = 0;
};

class FakeWorker final : public v1::Worker::Service {
 public:
  explicit FakeWorker(FakeWorkerOptions options = {});
  ~FakeWorker() override;

  int port() const { return port_; }
  const FakeWorkerOptions& options() const { return options_; }

  // The next submission or cancellation that was not taken yet; fails the test after kPatience.
  v1::Submit AwaitSubmit();
  v1::Cancel AwaitCancel();
  bool HasWaitingSubmit() const;
  bool HasWaitingCancel() const;
  bool AwaitStream();
  int streams() const;
  std::string cluster_token() const;

  // With a script, every submission is answered at once: the script's tokens from the resume point
  // on, one delta each, then `finish`.
  void Script(std::vector<int32_t> tokens, v1::Finish finish = v1::FINISH_STOP);

  void Send(const v1::WorkerMessage& message);
  void SendLoad(const std::function<void(v1::Load*)>& fill);
  // One delta of one sequence.
  void Emit(const v1::Submit& submit, const std::vector<int32_t>& tokens,
            v1::Finish finish = v1::FINISH_NONE);
  void Reject(const v1::Submit& submit, absl::StatusCode code, const std::string& message);
  // Breaks all streams and stops listening.
  void Die();

  grpc::Status Serve(
      grpc::ServerContext* context,
      grpc::ServerReaderWriter<v1::WorkerMessage, v1::RouterMessage>* stream) override;

 private:
  void Answer(const v1::Submit& submit);
  bool HasSubmit() const ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_) { return !submits_.empty(); }
  bool HasCancel() const ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_) { return !cancels_.empty(); }
  bool HasStream() const ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_) { return stream_ != nullptr; }

  const FakeWorkerOptions options_;
  int port_ = 0;
  std::unique_ptr<grpc::Server> server_;
  mutable Mutex mutex_;
  Mutex write_mutex_;
  grpc::ServerReaderWriter<v1::WorkerMessage, v1::RouterMessage>* stream_ ABSL_GUARDED_BY(mutex_) =
      nullptr;
  int streams_ ABSL_GUARDED_BY(mutex_) = 0;
  std::string token_ ABSL_GUARDED_BY(mutex_);
  std::deque<v1::Submit> submits_ ABSL_GUARDED_BY(mutex_);
  std::deque<v1::Cancel> cancels_ ABSL_GUARDED_BY(mutex_);
  std::vector<int32_t> script_ ABSL_GUARDED_BY(mutex_);
  v1::Finish script_finish_ ABSL_GUARDED_BY(mutex_) = v1::FINISH_NONE;
};

}  // namespace shoal::router
