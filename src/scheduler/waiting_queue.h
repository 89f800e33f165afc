// SPDX-License-Identifier: Apache-2.0
// WaitingQueue: the requests that may be admitted, in rank order, with what is reported about them.
// The bound on its length is the scheduler's (it counts parked siblings too). Not thread-safe.
#pragma once

#include <cstdint>
#include <set>

#include "absl/time/time.h"
#include "scheduler/sequence.h"

namespace shoal::scheduler {

// Rank of a request: each priority is worth `priority_step` of waiting.
Rank RankOf(const Request& request, absl::Time arrival, absl::Duration priority_step);

class WaitingQueue {
 public:
  // Not owned; `sequence` must stay alive and keep its rank until it is erased.
  void Insert(Sequence& sequence);
  // The sequence must be in the queue.
  void Erase(Sequence& sequence);
  // The next one to admit, or null.
  Sequence* front() const { return order_.empty() ? nullptr : *order_.begin(); }
  int64_t size() const { return static_cast<int64_t>(order_.size()); }
  bool contains(Sequence& sequence) const { return order_.contains(&sequence); }

 private:
  struct ByRank {
    bool operator()(const Sequence* a, const Sequence* b) const { return a->rank < b->rank; }
  };
  std::set<Sequence*, ByRank> order_;
};

}  // namespace shoal::scheduler
