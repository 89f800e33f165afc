// SPDX-License-Identifier: Apache-2.0
#include "scheduler/waiting_queue.h"

#include <gtest/gtest.h>

namespace shoal::scheduler {
namespace {

const absl::Time kStart = absl::UnixEpoch();

Sequence Waiting(uint64_t id, int32_t priority, absl::Duration arrival) {
  Sequence sequence;
  sequence.request.id = SequenceId(id);
  sequence.request.priority = priority;
  sequence.rank = RankOf(sequence.request, kStart + arrival, absl::Seconds(5));
  return sequence;
}

TEST(WaitingQueue, ServesHigherPriorityFirstThenEarlierArrivalThenLowerId) {
  Sequence late = Waiting(1, 0, absl::Seconds(2));
  Sequence early = Waiting(3, 0, absl::Seconds(1));
  Sequence twin = Waiting(2, 0, absl::Seconds(1));
  Sequence urgent = Waiting(4, 1, absl::Seconds(3));
  WaitingQueue queue;
  for (Sequence* sequence : {&late, &early, &twin, &urgent}) queue.Insert(*sequence);
  for (Sequence* expected : {&urgent, &twin, &early, &late}) {
    ASSERT_EQ(queue.front(), expected);
    queue.Erase(*expected);
  }
  EXPECT_EQ(queue.front(), nullptr);
}

TEST(WaitingQueue, OnePriorityIsWorthOneStepOfWaiting) {
  Sequence patient = Waiting(1, 0, absl::ZeroDuration());
  Sequence urgent = Waiting(2, 1, absl::Milliseconds(4999));
  Sequence later = Waiting(3, 1, absl::Milliseconds(5001));
  WaitingQueue queue;
  for (Sequence* sequence : {&patient, &urgent, &later}) queue.Insert(*sequence);
  for (Sequence* expected : {&urgent, &patient, &later}) {
    ASSERT_EQ(queue.front(), expected);
    queue.Erase(*expected);
  }
}

}  // namespace
}  // namespace shoal::scheduler
