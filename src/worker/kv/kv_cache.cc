// SPDX-License-Identifier: Apache-2.0
#include "worker/kv/kv_cache.h"

#include <algorithm>
#include <limits>

#include "absl/strings/str_cat.h"
#include "base/status.h"
#include "kernels/kv_layout.h"

namespace shoal::worker {
namespace {

constexpr int64_t kBlocksMin = 2;

// Blocks that `max_sequences` sequences of a window group can hold at once: the window, the rows of
// a step, and the partial blocks at both ends.
int64_t WindowBlocksMax(int64_t window, const config::EngineConfig& engine) {
  const int64_t tokens = window + engine.max_batch_tokens;
  return engine.max_sequences * (tokens / engine.kv.block_tokens + 2);
}

absl::Status TooSmall(const KvGroupPlan& group, const config::EngineConfig& engine,
                      int64_t bytes_per_block) {
  const kernels::KvLayout& layout = group.layout;
  return absl::ResourceExhaustedError(absl::StrCat(
      "engine.kv.memory ", engine.kv.memory_bytes, " bytes gives ", group.arena, " ", group.blocks,
      " blocks; at least ", kBlocksMin, " are needed: one block of it takes ", layout.block_tokens,
      " tokens * ", layout.kv_heads, " kv heads * ", layout.layers, " layers * ", layout.head_dim,
      " dims * ", kernels::ByteSize(layout.dtype), " bytes * 2 (k and v) = ", layout.BlockBytes(),
      " bytes, one block of every group ", bytes_per_block,
      " bytes; raise engine.kv.memory to at least ", kBlocksMin * bytes_per_block));
}

}  // namespace

int64_t KvPlan::bytes() const {
  int64_t total = 0;
  for (const KvGroupPlan& group : groups) total += group.bytes();
  return total;
}

int64_t KvPlan::pool_tokens() const {
  constexpr int64_t kNone = std::numeric_limits<int64_t>::max();
  int64_t full = kNone;
  int64_t window = kNone;
  for (const KvGroupPlan& group : groups) {
    int64_t& least = group.window == 0 ? full : window;
    least = std::min(least, group.blocks * group.layout.block_tokens);
  }
  return full != kNone ? full : window;
}

absl::StatusOr<KvPlan> PlanKv(const model::ModelSpec& spec, const config::EngineConfig& engine,
                              kernels::DType dtype) {
  KvPlan plan;
  int64_t bytes_per_block = 0;  // one block of every group
  for (const model::KvGroup& group : spec.kv_groups) {
    KvGroupPlan entry;
    entry.arena = absl::StrCat("kv group ", plan.groups.size());
    entry.window = static_cast<int32_t>(group.window);
    entry.layout = {.block_tokens = engine.kv.block_tokens,
                    .kv_heads = group.kv_heads,
                    .layers = static_cast<int64_t>(group.layers.size()),
                    .head_dim = group.head_dim,
                    .dtype = dtype};
    SHOAL_RETURN_IF_ERROR(kernels::CheckKvLayout(entry.layout));
    bytes_per_block += entry.layout.BlockBytes();
    plan.groups.push_back(std::move(entry));
  }
  if (plan.groups.empty()) return absl::InvalidArgumentError("the model has no KV group");

  // Window groups first: what they cannot use goes to the full ones.
  int64_t left = engine.kv.memory_bytes;
  int64_t full_bytes = 0;
  const int64_t even = engine.kv.memory_bytes / bytes_per_block;
  for (KvGroupPlan& group : plan.groups) {
    if (group.window == 0) {
      full_bytes += group.layout.BlockBytes();
      continue;
    }
    group.blocks = std::min(even, WindowBlocksMax(group.window, engine));
    left -= group.bytes();
  }
  constexpr int64_t kBlocksMax = std::numeric_limits<int32_t>::max();  // ids are int32
  for (KvGroupPlan& group : plan.groups) {
    if (group.window == 0) group.blocks = std::min(left / full_bytes, kBlocksMax);
    if (group.blocks < kBlocksMin) return TooSmall(group, engine, bytes_per_block);
  }
  return plan;
}

absl::StatusOr<std::unique_ptr<KvCache>> KvCache::Create(kernels::Backend& backend,
                                                         const KvPlan& plan) {
  std::unique_ptr<KvCache> cache(new KvCache());
  for (const KvGroupPlan& group : plan.groups) {
    absl::StatusOr<std::unique_ptr<kernels::Arena>> arena =
        backend.Allocate(group.arena, group.bytes());
    if (!arena.ok()) {
      return Annotate(arena.status(), absl::StrCat("allocating ", group.bytes(), " bytes of ",
                                                   group.arena, " (lower engine.kv.memory)"));
    }
    cache->pools_.push_back(
        {.layout = group.layout, .base = (*arena)->data(), .blocks = group.blocks});
    cache->arenas_.push_back(*std::move(arena));
  }
  return cache;
}

}  // namespace shoal::worker
