// SPDX-License-Identifier: Apache-2.0
#include "worker/frontend/stream_registry.h"

#include <utility>

#include "base/mutex.h"
#include "worker/frontend/router_stream.h"

namespace shoal::worker {

bool StreamRegistry::Add(StreamId id, std::shared_ptr<RouterStream> stream) {
  MutexLock lock(&mutex_);
  if (stopped_ || streams_.size() >= streams_max_) return false;
  streams_.emplace(id, std::move(stream));
  woken_ = true;
  return true;
}

void StreamRegistry::Remove(StreamId id) {
  std::shared_ptr<RouterStream> last;  // may be destroyed, outside the lock
  MutexLock lock(&mutex_);
  const auto it = streams_.find(id);
  if (it == streams_.end()) return;
  last = std::move(it->second);
  streams_.erase(it);
}

std::shared_ptr<RouterStream> StreamRegistry::Find(StreamId id) const {
  MutexLock lock(&mutex_);
  const auto it = streams_.find(id);
  return it == streams_.end() ? nullptr : it->second;
}

std::vector<std::shared_ptr<RouterStream>> StreamRegistry::All() const {
  MutexLock lock(&mutex_);
  std::vector<std::shared_ptr<RouterStream>> all;
  all.reserve(streams_.size());
  for (const auto& [id, stream] : streams_) all.push_back(stream);
  return all;
}

size_t StreamRegistry::size() const {
  MutexLock lock(&mutex_);
  return streams_.size();
}

void StreamRegistry::Wake(bool force_loads) {
  MutexLock lock(&mutex_);
  woken_ = true;
  force_loads_ = force_loads_ || force_loads;
}

void StreamRegistry::Stop() {
  MutexLock lock(&mutex_);
  stopped_ = true;
}

StreamRegistry::Woken StreamRegistry::Await(absl::Duration timeout) {
  MutexLock lock(&mutex_);
  const auto ready = [this]() ABSL_NO_THREAD_SAFETY_ANALYSIS { return woken_ || stopped_; };
  mutex_.AwaitWithTimeout(absl::Condition(&ready), timeout);
  const Woken result{.stopped = stopped_, .force_loads = force_loads_};
  woken_ = false;
  force_loads_ = false;
  return result;
}

bool StreamRegistry::AwaitEmpty(absl::Duration timeout) const {
  MutexLock lock(&mutex_);
  const auto empty = [this]() ABSL_NO_THREAD_SAFETY_ANALYSIS { return streams_.empty(); };
  return mutex_.AwaitWithTimeout(absl::Condition(&empty), timeout);
}

}  // namespace shoal::worker
