// SPDX-License-Identifier: Apache-2.0
// Rules and addresses of a KV group's bytes.
#pragma once

#include <cstdint>

#include "absl/status/status.h"
#include "kernels/attention.h"

namespace shoal::kernels {

// Whether the cpu and reference backends can run this layout: block_tokens 8, 16, 32 or 64 (so that
// a block never crosses a 64-token attention tile), head_dim a multiple of 8 up to 256, dtype f32
// or f16, at least one head and one layer. InvalidArgument names the value and the rule.
absl::Status CheckKvLayout(const KvLayout& layout);

// The span of keys (or values) of one (block, head, layer): see KvLayout.
inline uint8_t* KvSpan(const KvPool& pool, int64_t block, int64_t kv_head, int64_t layer,
                       bool value) {
  const KvLayout& layout = pool.layout;
  const int64_t span = (kv_head * layout.layers + layer) * 2 + (value ? 1 : 0);
  return pool.base + block * layout.BlockBytes() + span * layout.SpanBytes();
}

// The query heads [begin, end) that read one KV head: query head q reads q * kv_heads / query_heads
// (rounded down), also where the counts do not divide.
struct HeadRange {
  int64_t begin = 0;
  int64_t end = 0;
  int64_t size() const { return end - begin; }
};
constexpr HeadRange QueryHeadsOf(int64_t kv_head, int64_t kv_heads, int64_t query_heads) {
  return {.begin = (kv_head * query_heads + kv_heads - 1) / kv_heads,
          .end = ((kv_head + 1) * query_heads + kv_heads - 1) / kv_heads};
}

// The first key a query at `position` sees.
constexpr int64_t FirstVisible(int64_t position, int64_t window) {
  return window > 0 && position + 1 > window ? position + 1 - window : 0;
}

}  // namespace shoal::kernels
