// SPDX-License-Identifier: Apache-2.0
// Outbox: what other threads tell the HTTP server's thread; and the exchange they hold.
#pragma once

#include <atomic>
#include <cstdint>
#include <deque>
#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "absl/base/thread_annotations.h"
#include "base/mutex.h"
#include "router/frontend/http_server/http_types.h"

namespace shoal::router {

struct OutboxCommand {
  enum class Kind : uint8_t { kRespond, kStartStream, kWrite, kEndStream };
  uint64_t connection = 0;
  uint64_t exchange = 0;
  Kind kind = Kind::kRespond;
  HttpResponse response;  // kRespond, kStartStream
  std::string bytes;      // kWrite; kStartStream: the filler
};

// Thread-safe. Bounded by its users: an exchange's writer watches HttpExchange::buffered().
class Outbox {
 public:
  explicit Outbox(int wake_fd) : wake_fd_(wake_fd) {}
  void Push(OutboxCommand command);
  std::vector<OutboxCommand> Take();
  // Later pushes are dropped, and the descriptor is no longer used.
  void Close();

 private:
  Mutex mutex_;
  int wake_fd_ ABSL_GUARDED_BY(mutex_);
  std::vector<OutboxCommand> commands_ ABSL_GUARDED_BY(mutex_);
};

class Exchange final : public HttpExchange {
 public:
  Exchange(std::shared_ptr<Outbox> outbox, uint64_t connection, uint64_t id)
      : outbox_(std::move(outbox)), connection_(connection), id_(id) {}

  void Respond(HttpResponse response) override;
  void StartStream(HttpResponse head, std::string filler) override;
  void Write(std::string bytes) override;
  void EndStream() override;
  size_t buffered() const override { return queued_.load() + unsent_.load(); }
  void OnDisconnect(std::function<void()> callback) override;

  // The server's side.
  uint64_t id() const { return id_; }
  void Taken(size_t bytes) { queued_.fetch_sub(bytes); }
  void SetUnsent(size_t bytes) { unsent_.store(bytes); }
  void Disconnected();

 private:
  const std::shared_ptr<Outbox> outbox_;
  const uint64_t connection_;
  const uint64_t id_;
  std::atomic<size_t> queued_{0};  // in the outbox
  std::atomic<size_t> unsent_{0};  // in the connection's output buffer
  Mutex mutex_;
  bool disconnected_ ABSL_GUARDED_BY(mutex_) = false;
  std::function<void()> callback_ ABSL_GUARDED_BY(mutex_);
};

}  // namespace shoal::router
