// SPDX-License-Identifier: Apache-2.0
#include "kernels/cpu/ops/attention_task.h"

#include <algorithm>

#include "kernels/kv_layout.h"

namespace shoal::kernels::cpu {
namespace {

// The block's tokens [begin, end) that see a key at positions [first, first + count).
struct TokenRange {
  int64_t begin = 0;
  int64_t end = 0;
};
TokenRange TokensThatSee(const AttentionCall& call, const RowBlock& block, int64_t first,
                         int64_t count) {
  // A query sees [FirstVisible(position), position]; both ends grow with the position.
  TokenRange range{.begin = std::max<int64_t>(0, first - block.first_position()),
                   .end = block.tokens};
  const int64_t window = call.shape->window;
  if (window > 0) {
    const int64_t last_position = first + count - 1 + window - 1;
    range.end = std::min(range.end, last_position - block.first_position() + 1);
  }
  range.end = std::max(range.begin, range.end);
  return range;
}

// Asks for the memory of a block that is needed soon: each span is too short for the hardware to
// see a stream in it.
void PrefetchBlock(const AttentionCall& call, const RowBlock& block, int64_t position) {
  const auto index = static_cast<size_t>(position / call.pool->layout.block_tokens);
  if (position > block.last_position() || index >= block.sequence->block_table.size()) return;
  const uint8_t* keys =
      KvSpan(*call.pool, block.sequence->block_table[index], block.kv_head, call.layer, false);
  const int64_t bytes = 2 * call.pool->layout.SpanBytes();  // keys, then values
  for (int64_t i = 0; i < bytes; i += 64) __builtin_prefetch(keys + i);
}

// Brings the keys and values of a tile into `tile`. Blocks that no row of the row block sees are
// never dereferenced, slots past the last visible position never read.
void LoadTile(const AttentionCall& call, const RowBlock& block, int64_t tile_start, float* tile) {
  const KvPool& pool = *call.pool;
  const int64_t block_tokens = pool.layout.block_tokens;
  const bool half = pool.layout.dtype == DType::kF16;
  const int64_t first_seen = FirstVisible(block.first_position(), call.shape->window);
  const int64_t end_seen = block.last_position() + 1;
  float* values = tile + kTileTokens * call.head_dim();
  for (int64_t slot = 0; slot < kTileTokens; slot += block_tokens) {
    const int64_t position = tile_start + slot;
    const bool seen = position < end_seen && position + block_tokens > first_seen;
    if (!seen) {
      call.kernels->load_keys(pool.base, half, call.head_dim(), static_cast<int>(block_tokens), 0,
                              tile + slot);
      continue;
    }
    const int64_t id = block.sequence->block_table[static_cast<size_t>(position / block_tokens)];
    PrefetchBlock(call, block, position + 2 * block_tokens);
    const int valid = static_cast<int>(std::min(block_tokens, end_seen - position));
    call.kernels->load_keys(KvSpan(pool, id, block.kv_head, call.layer, false), half,
                            call.head_dim(), static_cast<int>(block_tokens), valid, tile + slot);
    call.kernels->load_values(KvSpan(pool, id, block.kv_head, call.layer, true), half,
                              call.head_dim(), valid, values + slot * call.padded_dim());
  }
}

void AttendRows(const AttentionCall& call, const RowBlock& block, int64_t tile_start,
                TokenRange tokens, float* states, const float* tile) {
  AttendTileArgs args{.keys = tile,
                      .values = tile + kTileTokens * call.head_dim(),
                      .head_dim = call.head_dim(),
                      .padded_dim = call.padded_dim(),
                      .scale = call.shape->scale,
                      .softcap = call.shape->softcap,
                      .alibi = !call.shape->slopes.empty()};
  const int64_t end = tokens.end * block.heads;
  for (int64_t row = tokens.begin * block.heads; row < end; row += kAttendRows) {
    args.rows = static_cast<int>(std::min<int64_t>(kAttendRows, end - row));
    for (int r = 0; r < args.rows; ++r) {
      const int64_t token = (row + r) / block.heads;
      const int64_t head = block.first_head + (row + r) % block.heads;
      const int64_t position = block.first_position() + token;
      args.query[r] = call.q->Row<float>(block.sequence->first_row + block.first_token + token) +
                      head * call.head_dim();
      args.state[r] = states + (row + r) * call.state_floats();
      args.begin[r] = static_cast<int>(
          std::max<int64_t>(0, FirstVisible(position, call.shape->window) - tile_start));
      args.end[r] = static_cast<int>(std::min<int64_t>(kTileTokens, position - tile_start + 1));
      if (args.alibi) {
        args.slope[r] = call.shape->slopes[static_cast<size_t>(head)];
        args.distance[r] = static_cast<float>(tile_start - position);
      }
    }
    call.kernels->attend_tile(args);
  }
}

}  // namespace

SplitRange SplitsOf(const AttentionCall& call, const RowBlock& block) {
  return {.begin = FirstVisible(block.first_position(), call.shape->window) / kSplitTokens,
          .end = block.last_position() / kSplitTokens + 1};
}

void RunSplit(const AttentionCall& call, const RowBlock& block, int64_t split, float* states,
              float* tile) {
  for (int64_t start = split * kSplitTokens; start < (split + 1) * kSplitTokens;
       start += kTileTokens) {
    const TokenRange tokens = TokensThatSee(call, block, start, kTileTokens);
    if (tokens.begin == tokens.end) continue;
    LoadTile(call, block, start, tile);
    AttendRows(call, block, start, tokens, states, tile);
  }
}

void FoldSplit(const AttentionCall& call, const RowBlock& block, int64_t split, float* parts,
               float* totals) {
  const TokenRange tokens = TokensThatSee(call, block, split * kSplitTokens, kSplitTokens);
  const int64_t stride = call.state_floats();
  for (int64_t row = tokens.begin * block.heads; row < tokens.end * block.heads; ++row) {
    call.kernels->fold_split(call.padded_dim(), parts + row * stride, totals + row * stride);
  }
}

void ResetStates(const AttentionCall& call, const RowBlock& block, float* states) {
  for (int64_t row = 0; row < block.query_rows(); ++row) {
    call.kernels->reset_state(call.padded_dim(), states + row * call.state_floats());
  }
}

void FinishRows(const AttentionCall& call, const RowBlock& block, const float* totals) {
  for (int64_t row = 0; row < block.query_rows(); ++row) {
    const int64_t token = block.sequence->first_row + block.first_token + row / block.heads;
    const int64_t head = block.first_head + row % block.heads;
    call.kernels->finish_row(totals + row * call.state_floats(), call.head_dim(), call.padded_dim(),
                             call.out->Row<float>(token) + head * call.head_dim());
  }
}

}  // namespace shoal::kernels::cpu
