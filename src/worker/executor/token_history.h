// SPDX-License-Identifier: Apache-2.0
// TokenHistory: which tokens a sequence holds and how often, for penalties; grows token by token,
// so that a step costs the distinct tokens and not the length of the sequence.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "absl/container/flat_hash_map.h"
#include "kernels/sampling.h"

namespace shoal::worker {

// Not thread-safe.
class TokenHistory {
 public:
  // One more token; `generated`: it comes after the prompt.
  void Add(int32_t token, bool generated);
  // Every distinct token once, in order of first use. Valid until the next Add.
  std::span<const kernels::TokenUse> uses() const { return uses_; }

 private:
  absl::flat_hash_map<int32_t, size_t> places_;  // in uses_; never iterated
  std::vector<kernels::TokenUse> uses_;
};

}  // namespace shoal::worker
