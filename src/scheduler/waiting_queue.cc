// SPDX-License-Identifier: Apache-2.0
#include "scheduler/waiting_queue.h"

#include "base/check.h"

namespace shoal::scheduler {

Rank RankOf(const Request& request, absl::Time arrival, absl::Duration priority_step) {
  SHOAL_CHECK(priority_step > absl::ZeroDuration());
  return {.virtual_arrival = arrival - priority_step * request.priority,
          .arrival = arrival,
          .id = request.id};
}

void WaitingQueue::Insert(Sequence& sequence) {
  const bool inserted = order_.insert(&sequence).second;
  SHOAL_CHECK(inserted);
}

void WaitingQueue::Erase(Sequence& sequence) {
  const size_t erased = order_.erase(&sequence);
  SHOAL_CHECK(erased == 1);
}

}  // namespace shoal::scheduler
