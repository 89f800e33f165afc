// SPDX-License-Identifier: Apache-2.0
#include "router/fake_worker.h"

#include <gtest/gtest.h>

#include <utility>

#include "absl/strings/str_cat.h"
#include "absl/time/clock.h"
#include "base/mutex.h"

namespace shoal::router {

FakeWorker::FakeWorker(FakeWorkerOptions options) : options_(std::move(options)) {
  grpc::ServerBuilder builder;
  builder.AddListeningPort(absl::StrCat("127.0.0.1:", options_.port),
                           grpc::InsecureServerCredentials(), &port_);
  builder.AddChannelArgument(GRPC_ARG_ALLOW_REUSEPORT, 0);
  builder.RegisterService(this);
  server_ = builder.BuildAndStart();
}

FakeWorker::~FakeWorker() { Die(); }

void FakeWorker::Die() {
  if (server_ == nullptr) return;
  server_->Shutdown(absl::ToChronoTime(absl::Now()));
  server_->Wait();
  server_.reset();
}

grpc::Status FakeWorker::Serve(
    grpc::ServerContext* context,
    grpc::ServerReaderWriter<v1::WorkerMessage, v1::RouterMessage>* stream) {
  {
    MutexLock lock(&mutex_);
    const auto it = context->client_metadata().find("shoal-cluster-token");
    if (it != context->client_metadata().end()) {
      token_ = std::string(it->second.data(), it->second.size());
    }
  }
  v1::RouterMessage message;
  while (stream->Read(&message)) {
    if (message.has_hello()) {
      v1::WorkerMessage out;
      v1::Welcome* welcome = out.mutable_welcome();
      welcome->set_protocol(2);
      welcome->set_incarnation(options_.incarnation);
      welcome->set_model(options_.model);
      welcome->set_weights_digest(options_.weights_digest);
      welcome->set_system_fingerprint(options_.fingerprint);
      welcome->set_max_context(options_.max_context);
      welcome->set_vocab_size(options_.vocab_size);
      welcome->set_pool_tokens(options_.pool_tokens);
      MutexLock lock(&mutex_);
      stream_ = stream;
      ++streams_;
      MutexLock write_lock(&write_mutex_);
      stream->Write(out);
    } else if (message.has_submit()) {
      Answer(message.submit());
      MutexLock lock(&mutex_);
      submits_.push_back(message.submit());
    } else if (message.has_cancel()) {
      MutexLock lock(&mutex_);
      cancels_.push_back(message.cancel());
    }
  }
  MutexLock lock(&mutex_);
  if (stream_ == stream) stream_ = nullptr;
  return grpc::Status::OK;
}

void FakeWorker::Script(std::vector<int32_t> tokens, v1::Finish finish) {
  MutexLock lock(&mutex_);
  script_ = std::move(tokens);
  script_finish_ = finish;
}

void FakeWorker::Answer(const v1::Submit& submit) {
  std::vector<int32_t> script;
  v1::Finish finish;
  {
    MutexLock lock(&mutex_);
    script = script_;
    finish = script_finish_;
  }
  if (finish == v1::FINISH_NONE) return;
  const auto from = static_cast<size_t>(submit.tokens_size() - submit.prompt_tokens());
  for (size_t i = from; i < script.size(); ++i) {
    Emit(submit, {script[i]}, i + 1 == script.size() ? finish : v1::FINISH_NONE);
  }
}

void FakeWorker::Send(const v1::WorkerMessage& message) {
  MutexLock lock(&mutex_);
  if (stream_ == nullptr) return;
  MutexLock write_lock(&write_mutex_);
  stream_->Write(message);
}

void FakeWorker::SendLoad(const std::function<void(v1::Load*)>& fill) {
  v1::WorkerMessage message;
  message.mutable_load()->set_incarnation(options_.incarnation);
  message.mutable_load()->set_blocks_total(100);
  message.mutable_load()->set_blocks_free(100);
  fill(message.mutable_load());
  Send(message);
}

void FakeWorker::Emit(const v1::Submit& submit, const std::vector<int32_t>& tokens,
                      v1::Finish finish) {
  v1::WorkerMessage message;
  v1::SequenceDelta* delta = message.mutable_deltas()->add_sequences();
  delta->set_sequence(submit.sequence());
  delta->set_attempt(submit.attempt());
  for (const int32_t token : tokens) {
    v1::TokenOutput* out = delta->add_tokens();
    out->set_token(token);
    if (submit.sampling().logprobs() < 0) continue;
    out->set_has_logprob(true);
    out->set_logprob(-0.5f);
    for (int i = 0; i < submit.sampling().logprobs(); ++i) {
      v1::TopLogprob* top = out->add_top();
      top->set_token('a' + i);
      top->set_logprob(-1.0f - static_cast<float>(i));
    }
  }
  delta->set_finish(finish);
  Send(message);
}

void FakeWorker::Reject(const v1::Submit& submit, absl::StatusCode code, const std::string& text) {
  v1::WorkerMessage message;
  v1::SequenceDelta* delta = message.mutable_deltas()->add_sequences();
  delta->set_sequence(submit.sequence());
  delta->set_attempt(submit.attempt());
  delta->set_finish(v1::FINISH_ERROR);
  delta->set_error_code(static_cast<int>(code));
  delta->set_error(text);
  delta->set_rejected(true);
  Send(message);
}

v1::Submit FakeWorker::AwaitSubmit() {
  MutexLock lock(&mutex_);
  if (!mutex_.AwaitWithTimeout(absl::Condition(this, &FakeWorker::HasSubmit), kPatience)) {
    ADD_FAILURE() << "no submission arrived";
    return {};
  }
  v1::Submit submit = submits_.front();
  submits_.pop_front();
  return submit;
}

v1::Cancel FakeWorker::AwaitCancel() {
  MutexLock lock(&mutex_);
  if (!mutex_.AwaitWithTimeout(absl::Condition(this, &FakeWorker::HasCancel), kPatience)) {
    ADD_FAILURE() << "no cancellation arrived";
    return {};
  }
  v1::Cancel cancel = cancels_.front();
  cancels_.pop_front();
  return cancel;
}

bool FakeWorker::HasWaitingSubmit() const {
  MutexLock lock(&mutex_);
  return HasSubmit();
}

bool FakeWorker::HasWaitingCancel() const {
  MutexLock lock(&mutex_);
  return HasCancel();
}

bool FakeWorker::AwaitStream() {
  MutexLock lock(&mutex_);
  return mutex_.AwaitWithTimeout(absl::Condition(this, &FakeWorker::HasStream), kPatience);
}

int FakeWorker::streams() const {
  MutexLock lock(&mutex_);
  return streams_;
}

std::string FakeWorker::cluster_token() const {
  MutexLock lock(&mutex_);
  return token_;
}

}  // namespace shoal::router
