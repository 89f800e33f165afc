// SPDX-License-Identifier: Apache-2.0
// WriteQueue: messages of one stream that are not sent yet, bounded. Pure; its owner locks.
#pragma once

#include <cstddef>
#include <deque>
#include <optional>
#include <utility>

#include "shoal/v1/worker.pb.h"

namespace shoal::worker {

class WriteQueue {
 public:
  WriteQueue(size_t messages_max, size_t bytes_max)
      : messages_max_(messages_max), bytes_max_(bytes_max) {}

  // False when the bound is reached; an empty queue takes any one message.
  [[nodiscard]] bool Push(v1::WorkerMessage message) {
    const size_t bytes = message.ByteSizeLong();
    const bool fits = messages_.size() < messages_max_ && bytes_ + bytes <= bytes_max_;
    if (!messages_.empty() && !fits) return false;
    bytes_ += bytes;
    messages_.push_back({bytes, std::move(message)});
    return true;
  }

  std::optional<v1::WorkerMessage> Pop() {
    if (messages_.empty()) return std::nullopt;
    std::optional<v1::WorkerMessage> message(std::move(messages_.front().second));
    bytes_ -= messages_.front().first;
    messages_.pop_front();
    return message;
  }

  void Clear() {
    messages_.clear();
    bytes_ = 0;
  }

  bool empty() const { return messages_.empty(); }
  size_t bytes() const { return bytes_; }

 private:
  const size_t messages_max_;
  const size_t bytes_max_;
  size_t bytes_ = 0;
  std::deque<std::pair<size_t, v1::WorkerMessage>> messages_;
};

}  // namespace shoal::worker
