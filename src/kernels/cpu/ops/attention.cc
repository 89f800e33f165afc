// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <vector>

#include "base/check.h"
#include "kernels/cpu/ops/attention_task.h"
#include "kernels/cpu/ops/op_counters.h"
#include "kernels/cpu/ops/op_kernels.h"
#include "kernels/cpu/ops/ops.h"
#include "kernels/kv_layout.h"

namespace shoal::kernels::cpu {
namespace {

SHOAL_OP_COUNTERS(attention_counters, "attention");
SHOAL_OP_COUNTERS(kv_write_counters, "kv_write");

constexpr int64_t kRowsPerTask = 96;  // query rows that reuse one tile in a task
constexpr int64_t kWriteTokens = 64;  // tokens of one KvWrite task
constexpr int64_t kMaxHeadDim = 256;

// What one thread does: all splits of a row block, or one of them (split >= 0) into `parts`.
struct Task {
  RowBlock block;
  int64_t split = -1;
  float* parts = nullptr;
};

// A row block whose splits are separate tasks; its parts lie split after split.
struct SplitBlock {
  RowBlock block;
  SplitRange splits;
  int64_t first_state = 0;
};

struct TaskList {
  std::vector<Task> tasks;
  std::vector<SplitBlock> split_blocks;
  int64_t split_states = 0;
};

// Long contexts of few rows are cut at splits where whole row blocks would leave threads idle.
TaskList PlanTasks(const AttentionCall& call, const AttentionBatch& batch, int threads) {
  const AttentionShape& shape = *call.shape;
  std::vector<RowBlock> blocks;
  for (const AttentionSequence& sequence : batch.sequences) {
    for (int64_t kv_head = 0; kv_head < shape.kv_heads; ++kv_head) {
      const HeadRange heads = QueryHeadsOf(kv_head, shape.kv_heads, shape.query_heads);
      if (heads.size() == 0) continue;
      const int64_t step = std::max<int64_t>(1, kRowsPerTask / heads.size());
      for (int64_t token = 0; token < sequence.rows; token += step) {
        blocks.push_back({.sequence = &sequence,
                          .kv_head = kv_head,
                          .first_head = heads.begin,
                          .heads = heads.size(),
                          .first_token = token,
                          .tokens = std::min(step, sequence.rows - token)});
      }
    }
  }
  TaskList list;
  const bool few = threads > 1 && static_cast<int64_t>(blocks.size()) < 4 * int64_t{threads};
  for (const RowBlock& block : blocks) {
    const SplitRange splits = SplitsOf(call, block);
    if (!few || splits.size() < 2) {
      list.tasks.push_back({.block = block});
      continue;
    }
    list.split_blocks.push_back(
        {.block = block, .splits = splits, .first_state = list.split_states});
    list.split_states += splits.size() * block.query_rows();
  }
  return list;
}

void AddSplitTasks(const AttentionCall& call, float* states, TaskList& list) {
  for (const SplitBlock& split_block : list.split_blocks) {
    int64_t state = split_block.first_state;
    for (int64_t split = split_block.splits.begin; split < split_block.splits.end; ++split) {
      list.tasks.push_back({.block = split_block.block,
                            .split = split,
                            .parts = states + state * call.state_floats()});
      state += split_block.block.query_rows();
    }
  }
}

void RunTask(const AttentionCall& call, const Task& task, Scratch& scratch) {
  if (task.split >= 0) {
    float* tile = scratch.Get<float>(call.tile_floats());
    ResetStates(call, task.block, task.parts);
    RunSplit(call, task.block, task.split, task.parts, tile);
    return;
  }
  const int64_t state_floats = task.block.query_rows() * call.state_floats();
  float* tile = scratch.Get<float>(call.tile_floats() + state_floats);
  float* states = tile + call.tile_floats();
  ResetStates(call, task.block, states);
  const SplitRange splits = SplitsOf(call, task.block);
  for (int64_t split = splits.begin; split < splits.end; ++split) {
    RunSplit(call, task.block, split, states, tile);
    FoldSplit(call, task.block, split, states, states);
  }
  FinishRows(call, task.block, states);
}

// Left to right into the states of the first split.
void FoldSplitBlock(const AttentionCall& call, const SplitBlock& split_block, float* states) {
  const RowBlock& block = split_block.block;
  float* totals = states + split_block.first_state * call.state_floats();
  float* parts = totals;
  for (int64_t split = split_block.splits.begin; split < split_block.splits.end; ++split) {
    FoldSplit(call, block, split, parts, totals);
    parts += block.query_rows() * call.state_floats();
  }
  FinishRows(call, block, totals);
}

void CheckBatch(const AttentionBatch& batch, const KvPool& pool) {
  SHOAL_CHECK(CheckKvLayout(pool.layout).ok());
  for (const AttentionSequence& sequence : batch.sequences) {
    SHOAL_CHECK(sequence.first_row >= 0 && sequence.rows >= 0);
    SHOAL_CHECK(sequence.first_row + sequence.rows <= batch.rows);
    const int64_t covered =
        static_cast<int64_t>(sequence.block_table.size()) * pool.layout.block_tokens;
    SHOAL_CHECK(sequence.first_position + sequence.rows <= covered);
  }
}

// One head of one token.
struct WriteTarget {
  uint8_t* keys = nullptr;
  uint8_t* values = nullptr;
  int64_t slot = 0;
};

template <class T>
void Scatter(const T* vector, int64_t head_dim, int64_t block_tokens, T* keys) {
  for (int64_t d = 0; d < head_dim; ++d) keys[d * block_tokens] = vector[d];
}

void WriteVector(const OpKernels& kernels, const KvLayout& layout, const float* k, const float* v,
                 const WriteTarget& target) {
  const int64_t dim = layout.head_dim;
  if (layout.dtype == DType::kF16) {
    uint16_t rounded[kMaxHeadDim];
    kernels.to_half(k, dim, rounded);
    Scatter(rounded, dim, layout.block_tokens,
            reinterpret_cast<uint16_t*>(target.keys) + target.slot);
    kernels.to_half(v, dim, reinterpret_cast<uint16_t*>(target.values) + target.slot * dim);
    return;
  }
  Scatter(k, dim, layout.block_tokens, reinterpret_cast<float*>(target.keys) + target.slot);
  std::copy_n(v, dim, reinterpret_cast<float*>(target.values) + target.slot * dim);
}

class CpuAttentionOps final : public AttentionOps {
 public:
  explicit CpuAttentionOps(Isa isa) : isa_(isa), kernels_(OpKernelsFor(isa)) {}

  void KvWrite(Stream& stream, const AttentionBatch& batch, const KvPool& pool, int64_t layer,
               const Tensor& k, const Tensor& v) override;
  void PagedAttention(Stream& stream, const AttentionBatch& batch, const AttentionShape& shape,
                      const KvPool& pool, int64_t layer, const Tensor& q,
                      const Tensor& out) override;

 private:
  const Isa isa_;
  const OpKernels& kernels_;
};

void CpuAttentionOps::KvWrite(Stream& stream, const AttentionBatch& batch, const KvPool& pool,
                              int64_t layer, const Tensor& k, const Tensor& v) {
  CheckBatch(batch, pool);
  const KvLayout& layout = pool.layout;
  SHOAL_CHECK(layer >= 0 && layer < layout.layers);
  SHOAL_CHECK(k.dim(1) == layout.kv_heads * layout.head_dim && v.dim(1) == k.dim(1));
  SHOAL_CHECK(k.dim(0) >= batch.rows && v.dim(0) >= batch.rows);
  kv_write_counters.Count(isa_);
  struct Piece {
    const AttentionSequence* sequence;
    int64_t first_token;
  };
  std::vector<Piece> pieces;
  for (const AttentionSequence& sequence : batch.sequences) {
    for (int64_t token = 0; token < sequence.rows; token += kWriteTokens) {
      pieces.push_back({.sequence = &sequence, .first_token = token});
    }
  }
  const auto tasks = static_cast<int64_t>(pieces.size()) * layout.kv_heads;
  CpuStream::From(stream).pool().ParallelFor(tasks, [&](int64_t task, int) {
    const Piece& piece = pieces[static_cast<size_t>(task / layout.kv_heads)];
    const int64_t head = task % layout.kv_heads;
    const AttentionSequence& sequence = *piece.sequence;
    const int64_t end = std::min(sequence.rows, piece.first_token + kWriteTokens);
    for (int64_t token = piece.first_token; token < end; ++token) {
      const int64_t position = sequence.first_position + token;
      const int64_t row = sequence.first_row + token;
      const int64_t block =
          sequence.block_table[static_cast<size_t>(position / layout.block_tokens)];
      SHOAL_CHECK(block >= 0 && block < pool.blocks);
      WriteVector(kernels_, layout, k.Row<float>(row) + head * layout.head_dim,
                  v.Row<float>(row) + head * layout.head_dim,
                  {.keys = KvSpan(pool, block, head, layer, false),
                   .values = KvSpan(pool, block, head, layer, true),
                   .slot = position % layout.block_tokens});
    }
  });
}

void CpuAttentionOps::PagedAttention(Stream& stream, const AttentionBatch& batch,
                                     const AttentionShape& shape, const KvPool& pool, int64_t layer,
                                     const Tensor& q, const Tensor& out) {
  CheckBatch(batch, pool);
  SHOAL_CHECK(layer >= 0 && layer < pool.layout.layers);
  SHOAL_CHECK(shape.kv_heads == pool.layout.kv_heads && shape.head_dim == pool.layout.head_dim);
  SHOAL_CHECK(q.dim(1) == shape.query_heads * shape.head_dim && out.dim(1) == q.dim(1));
  SHOAL_CHECK(q.dim(0) >= batch.rows && out.dim(0) >= batch.rows);
  SHOAL_CHECK(shape.slopes.empty() ||
              static_cast<int64_t>(shape.slopes.size()) == shape.query_heads);
  attention_counters.Count(isa_);
  CpuStream& cpu = CpuStream::From(stream);
  const AttentionCall call{
      .kernels = &kernels_, .shape = &shape, .pool = &pool, .layer = layer, .q = &q, .out = &out};
  TaskList list = PlanTasks(call, batch, cpu.pool().threads());
  float* states = cpu.shared_scratch().Get<float>(list.split_states * call.state_floats());
  AddSplitTasks(call, states, list);
  cpu.pool().ParallelFor(static_cast<int64_t>(list.tasks.size()), [&](int64_t task, int thread) {
    RunTask(call, list.tasks[static_cast<size_t>(task)], cpu.thread_scratch(thread));
  });
  if (list.split_blocks.empty()) return;
  cpu.pool().ParallelFor(static_cast<int64_t>(list.split_blocks.size()), [&](int64_t task, int) {
    FoldSplitBlock(call, list.split_blocks[static_cast<size_t>(task)], states);
  });
}

}  // namespace

std::unique_ptr<AttentionOps> CreateCpuAttentionOps(Isa isa) {
  return std::make_unique<CpuAttentionOps>(isa);
}

}  // namespace shoal::kernels::cpu
