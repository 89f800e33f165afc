// SPDX-License-Identifier: Apache-2.0
// StreamRegistry: the router streams that are open, and the bell that wakes who reports loads.
#pragma once

#include <cstddef>
#include <map>
#include <memory>
#include <vector>

#include "absl/base/thread_annotations.h"
#include "absl/time/time.h"
#include "base/mutex.h"
#include "worker/engine/engine_types.h"

namespace shoal::worker {

class RouterStream;

// Thread-safe.
class StreamRegistry {
 public:
  explicit StreamRegistry(size_t streams_max) : streams_max_(streams_max) {}

  // False when `streams_max` are open, or after Stop.
  [[nodiscard]] bool Add(StreamId id, std::shared_ptr<RouterStream> stream);
  void Remove(StreamId id);
  // Null when it has ended.
  std::shared_ptr<RouterStream> Find(StreamId id) const;
  // In the order in which they were opened.
  std::vector<std::shared_ptr<RouterStream>> All() const;
  size_t size() const;

  // Ends a wait at once; `force_loads` asks for a Load on every stream now.
  void Wake(bool force_loads);
  // No stream is added any more, and waits return at once.
  void Stop();
  struct Woken {
    bool stopped = false;
    bool force_loads = false;
  };
  // Waits for Wake or Stop, at most `timeout`.
  Woken Await(absl::Duration timeout);
  // Waits until no stream is open; false after `timeout`.
  bool AwaitEmpty(absl::Duration timeout) const;

 private:
  const size_t streams_max_;
  mutable Mutex mutex_;
  std::map<StreamId, std::shared_ptr<RouterStream>> streams_ ABSL_GUARDED_BY(mutex_);
  bool woken_ ABSL_GUARDED_BY(mutex_) = false;
  bool force_loads_ ABSL_GUARDED_BY(mutex_) = false;
  bool stopped_ ABSL_GUARDED_BY(mutex_) = false;
};

}  // namespace shoal::worker
