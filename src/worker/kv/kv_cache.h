// SPDX-License-Identifier: Apache-2.0
// KvCache: the bytes behind the scheduler's block ids. One arena per KV group, whose size follows
// from `engine.kv.memory`.
#pragma once

#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "base/config/cluster_config.h"
#include "kernels/attention.h"
#include "kernels/backend.h"
#include "model/spec/model_spec.h"

namespace shoal::worker {

// What one KV group gets.
struct KvGroupPlan {
  std::string arena;  // "kv group 0"
  int32_t window = 0;
  kernels::KvLayout layout;
  int64_t blocks = 0;
  int64_t bytes() const { return blocks * layout.BlockBytes(); }
};

struct KvPlan {
  std::vector<KvGroupPlan> groups;
  int64_t bytes() const;
  // Tokens of one sequence at most that the pools hold: the smallest full group. Window groups
  // recycle their blocks and do not limit it, unless there is no full group.
  int64_t pool_tokens() const;
};

// Splits `engine.kv.memory` over the model's KV groups: every group gets the same number of blocks,
// except that a window group never gets more than its sequences can hold at once.
// RESOURCE_EXHAUSTED shows the arithmetic when a group would get fewer than two blocks.
absl::StatusOr<KvPlan> PlanKv(const model::ModelSpec& spec, const config::EngineConfig& engine,
                              kernels::DType dtype);

// Immutable after creation; the bytes behind the pools are written by the rank that owns it.
class KvCache {
 public:
  static absl::StatusOr<std::unique_ptr<KvCache>> Create(kernels::Backend& backend,
                                                         const KvPlan& plan);
  // One pool per group, in the model's order. Valid as long as this object.
  std::span<const kernels::KvPool> pools() const { return pools_; }

 private:
  KvCache() = default;

  std::vector<std::unique_ptr<kernels::Arena>> arenas_;
  std::vector<kernels::KvPool> pools_;
};

}  // namespace shoal::worker
