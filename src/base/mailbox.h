// SPDX-License-Identifier: Apache-2.0
// Mailbox: the bounded queue of values through which threads talk.
#pragma once

#include <cstddef>
#include <deque>
#include <optional>
#include <utility>
#include <vector>

#include "absl/base/thread_annotations.h"
#include "absl/time/time.h"
#include "base/mutex.h"

namespace shoal {

// Any number of senders and receivers. After Close, pushes fail and pops return what is left.
template <typename T>
class Mailbox {
 public:
  explicit Mailbox(size_t capacity) : capacity_(capacity) {}

  // False when the mailbox is full or closed; `value` is then untouched.
  [[nodiscard]] bool TryPush(T&& value) {
    MutexLock lock(&mutex_);
    if (closed_ || items_.size() >= capacity_) return false;
    items_.push_back(std::move(value));
    return true;
  }

  // Waits for a value; nullopt after `timeout`, or when closed and empty.
  std::optional<T> Pop(absl::Duration timeout) {
    MutexLock lock(&mutex_);
    mutex_.AwaitWithTimeout(absl::Condition(this, &Mailbox::Readable), timeout);
    if (items_.empty()) return std::nullopt;
    std::optional<T> value(std::move(items_.front()));
    items_.pop_front();
    return value;
  }

  // Waits like Pop, then takes everything there is.
  std::vector<T> PopAll(absl::Duration timeout) {
    MutexLock lock(&mutex_);
    mutex_.AwaitWithTimeout(absl::Condition(this, &Mailbox::Readable), timeout);
    std::vector<T> all(std::make_move_iterator(items_.begin()),
                       std::make_move_iterator(items_.end()));
    items_.clear();
    return all;
  }

  void Close() {
    MutexLock lock(&mutex_);
    closed_ = true;
  }

  bool closed() const {
    MutexLock lock(&mutex_);
    return closed_;
  }

  size_t size() const {
    MutexLock lock(&mutex_);
    return items_.size();
  }

 private:
  bool Readable() const ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_) { return closed_ || !items_.empty(); }

  const size_t capacity_;
  mutable Mutex mutex_;
  std::deque<T> items_ ABSL_GUARDED_BY(mutex_);
  bool closed_ ABSL_GUARDED_BY(mutex_) = false;
};

}  // namespace shoal
