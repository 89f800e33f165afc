// SPDX-License-Identifier: Apache-2.0
#include "router/frontend/grpc/generate_stream.h"

#include <utility>

#include "absl/time/clock.h"
#include "base/mutex.h"
#include "router/api_error.h"
#include "router/frontend/grpc/convert.h"

namespace shoal::router {

grpc::ServerWriteReactor<v1::GenerateResponse>* GenerateStream::Start(
    Service* service, grpc::CallbackServerContext* context,
    absl::StatusOr<GenerationRequest> request, size_t request_bytes) {
  auto stream = std::make_shared<GenerateStream>(service, context);
  stream->self_ = stream;
  if (!request.ok()) {
    stream->FinishOnce(request.status());
    return stream.get();
  }
  stream->id_ = service->dispatcher.NewId();
  request->arrival = absl::Now();
  request->deadline = absl::FromChrono(context->deadline());
  stream->Begin(*std::move(request), request_bytes);
  return stream.get();
}

void GenerateStream::Begin(GenerationRequest request, size_t request_bytes) {
  absl::StatusOr<AdmissionSlot> slot = service_.admission.TryAdmit();
  if (!slot.ok()) {
    FinishOnce(slot.status());
    return;
  }
  struct Job {
    GenerationRequest request;
    AdmissionSlot slot;
  };
  auto job = std::make_shared<Job>(Job{std::move(request), *std::move(slot)});
  auto self = shared_from_this();
  const bool taken = service_.pool.TrySubmit(static_cast<int64_t>(request_bytes) + 1, [self, job] {
    const absl::Status status = self->service_.Launch(
        self->id_, std::move(job->request), std::move(job->slot), [&self](const RequestSpec& spec) {
          self->Adopt(spec);
          return self;
        });
    if (!status.ok()) self->FinishOnce(status);
    // A cancellation before the submission found nothing to cancel.
    if (self->cancelled_.load()) self->service_.dispatcher.Cancel(self->id_);
  });
  if (taken) return;
  FinishOnce(ApiError(absl::StatusCode::kResourceExhausted,
                      "too much text is waiting to be tokenized; try again in a moment", "",
                      "overloaded"));
}

void GenerateStream::Adopt(const RequestSpec& spec) {
  const auto model = FindModel(service_.options.models, spec.model);
  tokenizer_ = (*model)->tokenizer;
  logprobs_ = spec.sampling.logprobs >= 0;
  prompt_tokens_ = spec.prompts.front();
}

bool GenerateStream::OnChoice(ChoiceEvent event) {
  v1::GenerateResponse response = ToProto(event, *tokenizer_, logprobs_);
  if (event.choice == 0) {
    for (const scheduler::TokenOutput& token : event.prompt) {
      *response.add_prompt_logprobs() = ToProto(token, *tokenizer_);
    }
    response.mutable_prompt_token_ids()->Add(prompt_tokens_.begin(), prompt_tokens_.end());
    prompt_tokens_.clear();
  }
  if (held_.has_value()) Push(*std::exchange(held_, std::nullopt));
  if (event.finish.has_value()) {
    held_ = std::move(response);
  } else {
    Push(std::move(response));
  }
  MutexLock lock(&mutex_);
  return queue_bytes_ <= service_.options.client_buffer_max && !Stalled();
}

void GenerateStream::WriteFront() {
  write_began_ = absl::Now();
  StartWrite(&queue_.front());
}

bool GenerateStream::Stalled() const {
  return !queue_.empty() && absl::Now() - write_began_ > service_.options.write_stall;
}

void GenerateStream::OnFlushTimeout() {
  MutexLock lock(&mutex_);
  if (!done_) context_->TryCancel();
}

void GenerateStream::OnEnd(EndEvent end) {
  if (held_.has_value()) {
    if (end.status.ok()) *held_->mutable_usage() = ToProto(end.usage);
    Push(*std::exchange(held_, std::nullopt));
  }
  FinishOnce(end.status);
}

void GenerateStream::Push(v1::GenerateResponse response) {
  MutexLock lock(&mutex_);
  if (finished_) return;
  queue_bytes_ += response.ByteSizeLong();
  queue_.push_back(std::move(response));
  if (queue_.size() == 1) WriteFront();
}

void GenerateStream::FinishOnce(const absl::Status& status) {
  MutexLock lock(&mutex_);
  if (ended_) return;
  ended_ = true;
  end_status_ = status;
  if (finished_) return;
  if (!queue_.empty()) {
    flush_alarm_.Set(absl::ToChronoTime(absl::Now() + service_.options.write_stall),
                     [self = shared_from_this()](bool fired) {
                       if (fired) self->OnFlushTimeout();
                     });
    return;
  }
  finished_ = true;
  Finish(ToGrpc(status));
}

void GenerateStream::OnWriteDone(bool ok) {
  bool left = false;
  {
    MutexLock lock(&mutex_);
    queue_bytes_ -= queue_.front().ByteSizeLong();
    queue_.pop_front();
    if (!ok) {
      // The client is gone.
      queue_.clear();
      queue_bytes_ = 0;
      left = !finished_;
      finished_ = true;
    } else if (!queue_.empty()) {
      WriteFront();
    } else if (ended_ && !finished_) {
      finished_ = true;
      Finish(ToGrpc(end_status_));
    }
  }
  if (!left) return;
  service_.dispatcher.Cancel(id_);
  Finish(grpc::Status(grpc::StatusCode::CANCELLED, "the client left"));
}

void GenerateStream::OnCancel() {
  cancelled_.store(true);
  service_.dispatcher.Cancel(id_);
}

void GenerateStream::OnDone() {
  const std::shared_ptr<GenerateStream> last = std::move(self_);
  MutexLock lock(&mutex_);
  done_ = true;
  flush_alarm_.Cancel();
}

}  // namespace shoal::router
