// SPDX-License-Identifier: Apache-2.0
// Shares the tokens of one step among the prompts being computed. Pure.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

namespace shoal::scheduler {

// Tokens for each prompt, given what each has left, in rank order; their sum is at most `budget`.
// The first one gets at least half, so it ends in bounded time whatever comes behind it; the other
// half goes to the shortest, so a short prompt behind a huge one starts at once. What one side
// leaves over the other gets. budget >= 0; remaining[i] >= 1.
std::vector<int32_t> ShareBudget(std::span<const int32_t> remaining, int32_t budget);

}  // namespace shoal::scheduler
