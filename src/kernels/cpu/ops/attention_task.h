// SPDX-License-Identifier: Apache-2.0
// The loops of attention over tiles and splits for one block of query rows that share a KV head.
#pragma once

#include <cstdint>

#include "kernels/attention.h"
#include "kernels/cpu/ops/op_kernels.h"
#include "kernels/tensor.h"

namespace shoal::kernels::cpu {

// Constants of one PagedAttention call. Read by all threads.
struct AttentionCall {
  const OpKernels* kernels = nullptr;
  const AttentionShape* shape = nullptr;
  const KvPool* pool = nullptr;
  int64_t layer = 0;
  const Tensor* q = nullptr;
  const Tensor* out = nullptr;

  int64_t head_dim() const { return shape->head_dim; }
  int64_t padded_dim() const { return PaddedDim(shape->head_dim); }
  int64_t state_floats() const { return StateFloats(padded_dim()); }
  // Floats of one tile of keys and one of values.
  int64_t tile_floats() const { return kTileTokens * (head_dim() + padded_dim()); }
};

// `tokens` consecutive rows of a sequence times the query heads of one KV head: tokens * heads
// query rows, token-major.
struct RowBlock {
  const AttentionSequence* sequence = nullptr;
  int64_t kv_head = 0;
  int64_t first_head = 0;
  int64_t heads = 0;
  int64_t first_token = 0;  // within the sequence's rows
  int64_t tokens = 0;

  int64_t query_rows() const { return tokens * heads; }
  int64_t first_position() const { return sequence->first_position + first_token; }
  int64_t last_position() const { return first_position() + tokens - 1; }
};

// The splits [begin, end) in which some row of the block sees a key.
struct SplitRange {
  int64_t begin = 0;
  int64_t end = 0;
  int64_t size() const { return end - begin; }
};
SplitRange SplitsOf(const AttentionCall& call, const RowBlock& block);

// Runs one split. states: query_rows() states of state_floats(), whose splits are empty; tile:
// tile_floats() of scratch. Rows without a key in the split are left alone.
void RunSplit(const AttentionCall& call, const RowBlock& block, int64_t split, float* states,
              float* tile);

// Folds `split`'s part in `parts` into `totals` (may be equal) for the rows that see a key of it.
void FoldSplit(const AttentionCall& call, const RowBlock& block, int64_t split, float* parts,
               float* totals);

// Empties states; writes the outputs of totals.
void ResetStates(const AttentionCall& call, const RowBlock& block, float* states);
void FinishRows(const AttentionCall& call, const RowBlock& block, const float* totals);

}  // namespace shoal::kernels::cpu
