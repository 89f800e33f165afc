// SPDX-License-Identifier: Apache-2.0
#include "router/frontend/http_server/outbox.h"
#include "base/mutex.h"

#include <unistd.h>

#include <utility>

namespace shoal::router {

void Outbox::Push(OutboxCommand command) {
  MutexLock lock(&mutex_);
  if (wake_fd_ < 0) return;
  commands_.push_back(std::move(command));
  if (commands_.size() > 1) return;  // already woken
  const uint64_t one = 1;
  // An eventfd refuses only when its counter is full, and then the server is awake anyway.
  [[maybe_unused]] const ssize_t written = write(wake_fd_, &one, sizeof(one));
}

std::vector<OutboxCommand> Outbox::Take() {
  MutexLock lock(&mutex_);
  return std::exchange(commands_, {});
}

void Outbox::Close() {
  MutexLock lock(&mutex_);
  wake_fd_ = -1;
  commands_.clear();
}

void Exchange::Respond(HttpResponse response) {
  outbox_->Push({connection_, id_, OutboxCommand::Kind::kRespond, std::move(response), {}});
}

void Exchange::StartStream(HttpResponse head, std::string filler) {
  outbox_->Push(
      {connection_, id_, OutboxCommand::Kind::kStartStream, std::move(head), std::move(filler)});
}

void Exchange::Write(std::string bytes) {
  queued_.fetch_add(bytes.size());
  outbox_->Push({connection_, id_, OutboxCommand::Kind::kWrite, {}, std::move(bytes)});
}

void Exchange::EndStream() {
  outbox_->Push({connection_, id_, OutboxCommand::Kind::kEndStream, {}, {}});
}

void Exchange::OnDisconnect(std::function<void()> callback) {
  {
    MutexLock lock(&mutex_);
    if (!disconnected_) {
      callback_ = std::move(callback);
      return;
    }
  }
  callback();
}

void Exchange::Disconnected() {
  std::function<void()> callback;
  {
    MutexLock lock(&mutex_);
    disconnected_ = true;
    callback = std::exchange(callback_, nullptr);
  }
  if (callback) callback();
}

}  // namespace shoal::router
