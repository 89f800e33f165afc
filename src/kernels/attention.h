// SPDX-License-Identifier: Apache-2.0
// Values that describe paged attention: the shape of a KV group's bytes and one step's sequences.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "kernels/tensor.h"

namespace shoal::kernels {

// Bytes of one KV group: [block][kv head][layer of group][k|v][span], so that one (block, head) is
// contiguous over the layers of the group. The order inside a span is the backend's and part of
// kKvLayoutVersion: cpu keeps K dim-major ([head_dim][block_tokens]) and V token-major
// ([block_tokens][head_dim]).
struct KvLayout {
  int64_t block_tokens = 16;
  int64_t kv_heads = 0;  // heads held by this rank
  int64_t layers = 0;    // layers of the group held by this rank
  int64_t head_dim = 0;
  DType dtype = DType::kF16;  // kF32 or kF16 on cpu

  int64_t SpanBytes() const { return block_tokens * head_dim * ByteSize(dtype); }
  int64_t BlockBytes() const { return kv_heads * layers * 2 * SpanBytes(); }
};
inline constexpr int kKvLayoutVersion = 1;

// The bytes behind a group's block ids. Not owned.
struct KvPool {
  KvLayout layout;
  uint8_t* base = nullptr;
  int64_t blocks = 0;
};

// One sequence's rows in a step: rows [first_row, first_row + rows) of the batch are the tokens at
// positions first_position, first_position + 1, ...
struct AttentionSequence {
  int64_t first_row = 0;
  int64_t rows = 0;
  int64_t first_position = 0;
  std::span<const int32_t> block_table;  // covers positions [0, first_position + rows)
};

// Planned once per step; the same for every layer of the group.
struct AttentionBatch {
  std::vector<AttentionSequence> sequences;
  int64_t rows = 0;
};

struct AttentionShape {
  int64_t query_heads = 0;  // of this rank; a multiple of or shared as the KV head map says
  int64_t kv_heads = 0;
  int64_t head_dim = 0;
  float scale = 0;     // multiplies q.k
  int64_t window = 0;  // a query sees itself and window-1 earlier keys; 0: all
  float softcap = 0;   // 0: none; else softcap * tanh(x / softcap)
  // ALiBi: empty, or one slope per query head; slope * (key position - query position) is added to
  // the scaled q.k.
  std::vector<float> slopes = {};
};

// Rotary embedding, prepared from the model description: the angle of pair i at position p is
// p * inv_freq[i]; cos and sin are multiplied by `magnitude`.
struct RopeTable {
  enum class Style : uint8_t { kNeox, kInterleaved };  // pairs (i, i + d/2) or (2i, 2i + 1)
  Style style = Style::kNeox;
  std::vector<double> inv_freq;  // rotated pairs; 2 * size() <= head_dim dims are rotated
  float magnitude = 1;
};

}  // namespace shoal::kernels
