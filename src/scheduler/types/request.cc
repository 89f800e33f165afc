// SPDX-License-Identifier: Apache-2.0
#include "scheduler/types/request.h"

#include "base/check.h"

namespace shoal::scheduler {

const char* Name(FinishReason reason) {
  switch (reason) {
    case FinishReason::kStop:
      return "stop";
    case FinishReason::kLength:
      return "length";
    case FinishReason::kCancelled:
      return "cancelled";
    case FinishReason::kDeadline:
      return "deadline";
    case FinishReason::kError:
      return "error";
  }
  SHOAL_CHECK(false && "a finish reason outside the enum");
}

}  // namespace shoal::scheduler
