// SPDX-License-Identifier: Apache-2.0
#include "scheduler/token_budget.h"

#include <algorithm>
#include <numeric>

#include "base/check.h"

namespace shoal::scheduler {

std::vector<int32_t> ShareBudget(std::span<const int32_t> remaining, int32_t budget) {
  SHOAL_CHECK(budget >= 0);
  std::vector<int32_t> shares(remaining.size(), 0);
  if (remaining.empty()) return shares;
  int64_t behind = 0;
  for (size_t i = 1; i < remaining.size(); ++i) {
    SHOAL_CHECK(remaining[i] >= 1);
    behind += remaining[i];
  }
  const auto kept = static_cast<int32_t>(std::min<int64_t>(budget / 2, behind));
  shares[0] = std::min(remaining[0], budget - kept);
  int32_t left = budget - shares[0];

  std::vector<size_t> order(remaining.size() - 1);
  std::iota(order.begin(), order.end(), size_t{1});
  std::ranges::stable_sort(order, {}, [&](size_t i) { return remaining[i]; });
  for (size_t i : order) {
    shares[i] = std::min(remaining[i], left);
    left -= shares[i];
  }
  SHOAL_CHECK(left >= 0);
  return shares;
}

}  // namespace shoal::scheduler
