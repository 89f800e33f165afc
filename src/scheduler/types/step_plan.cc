// SPDX-License-Identifier: Apache-2.0
#include "scheduler/types/step_plan.h"

namespace shoal::scheduler {

int64_t StepPlan::tokens() const {
  int64_t sum = 0;
  for (const SubPlan& sub_plan : sub_plans)
    for (const Slice& slice : sub_plan.slices) sum += slice.count;
  return sum;
}

bool StepPlan::empty() const {
  return removed.empty() && added.empty() && appended.empty() && tokens() == 0;
}

}  // namespace shoal::scheduler
