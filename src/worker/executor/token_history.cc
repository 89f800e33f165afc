// SPDX-License-Identifier: Apache-2.0
#include "worker/executor/token_history.h"

namespace shoal::worker {

void TokenHistory::Add(int32_t token, bool generated) {
  const auto [it, added] = places_.emplace(token, uses_.size());
  if (added) uses_.push_back({.token = token, .generated = 0});
  if (generated) ++uses_[it->second].generated;
}

}  // namespace shoal::worker
