// SPDX-License-Identifier: Apache-2.0
// Shared by the tests of the cpu ops: seeded data, tensors over vectors and a paged KV pool.
#pragma once

#include <cstdint>
#include <cstring>
#include <memory>
#include <numeric>
#include <random>
#include <vector>

#include "kernels/attention.h"
#include "kernels/backend.h"
#include "kernels/cpu/cpu_stream.h"
#include "kernels/cpu/isa.h"
#include "kernels/kv_layout.h"
#include "kernels/tensor.h"

namespace shoal::kernels {

inline std::vector<float> RandomFloats(int64_t count, uint32_t seed, float scale = 1) {
  std::mt19937 engine(seed);
  std::vector<float> values(static_cast<size_t>(count));
  for (float& value : values) {
    value = (static_cast<float>(engine() >> 8) * 0x1p-23F - 1.0F) * scale;
  }
  return values;
}

// A tensor over a vector that outlives it.
inline Tensor Matrix(std::vector<float>& values, int64_t rows) {
  return Tensor(values.data(), DType::kF32, {rows, static_cast<int64_t>(values.size()) / rows});
}

inline bool SameBits(const std::vector<float>& a, const std::vector<float>& b) {
  return a.size() == b.size() && std::memcmp(a.data(), b.data(), a.size() * sizeof(float)) == 0;
}

// One sequence: how many tokens it has in all.
struct AttentionCase {
  std::vector<int64_t> lengths;  // tokens per sequence
  int64_t block_tokens = 16;
  DType dtype = DType::kF16;
  AttentionShape shape;
  int64_t layers = 2;
  int64_t layer = 1;
};

// Runs the tokens of sequences through a KV pool in chunks. Block ids are shuffled; unused slots
// hold NaN. Query, key and value of a token depend only on (sequence, position).
class PagedRun {
 public:
  PagedRun(const AttentionCase& attention_case, AttentionOps& ops, Stream& stream)
      : case_(attention_case), ops_(ops), stream_(stream) {
    KvLayout& layout = pool_.layout;
    layout = {.block_tokens = case_.block_tokens,
              .kv_heads = case_.shape.kv_heads,
              .layers = case_.layers,
              .head_dim = case_.shape.head_dim,
              .dtype = case_.dtype};
    int64_t blocks = 1;  // block 0 belongs to nobody
    for (int64_t length : case_.lengths) {
      blocks += (length + layout.block_tokens - 1) / layout.block_tokens;
    }
    std::vector<int32_t> ids(static_cast<size_t>(blocks - 1));
    std::iota(ids.begin(), ids.end(), 1);
    std::mt19937 engine(7);
    for (size_t i = ids.size(); i > 1; --i) std::swap(ids[i - 1], ids[engine() % i]);
    size_t next = 0;
    for (size_t s = 0; s < case_.lengths.size(); ++s) {
      tables_.emplace_back();
      for (int64_t t = 0; t < case_.lengths[s]; t += layout.block_tokens) {
        tables_.back().push_back(ids[next++]);
      }
      const auto seed = static_cast<uint32_t>(100 * s);
      const int64_t q_width = case_.shape.query_heads * layout.head_dim;
      const int64_t kv_width = layout.kv_heads * layout.head_dim;
      q_.push_back(RandomFloats(case_.lengths[s] * q_width, seed + 1, 2));
      k_.push_back(RandomFloats(case_.lengths[s] * kv_width, seed + 2, 2));
      v_.push_back(RandomFloats(case_.lengths[s] * kv_width, seed + 3, 2));
      out_.emplace_back(q_.back().size());
    }
    bytes_.assign(static_cast<size_t>(blocks * layout.BlockBytes()), 0xFF);  // NaN in f16 and f32
    pool_.base = bytes_.data();
    pool_.blocks = blocks;
  }

  struct Chunk {
    size_t sequence;
    int64_t first;
    int64_t rows;
  };

  // One step: every chunk's rows in one batch.
  void Step(const std::vector<Chunk>& chunks) {
    const int64_t q_width = case_.shape.query_heads * case_.shape.head_dim;
    const int64_t kv_width = case_.shape.kv_heads * case_.shape.head_dim;
    AttentionBatch batch;
    std::vector<float> q;
    std::vector<float> k;
    std::vector<float> v;
    for (const Chunk& chunk : chunks) {
      batch.sequences.push_back({.first_row = batch.rows,
                                 .rows = chunk.rows,
                                 .first_position = chunk.first,
                                 .block_table = tables_[chunk.sequence]});
      batch.rows += chunk.rows;
      Append(q_[chunk.sequence], chunk, q_width, q);
      Append(k_[chunk.sequence], chunk, kv_width, k);
      Append(v_[chunk.sequence], chunk, kv_width, v);
    }
    std::vector<float> out(q.size(), -1.0F);
    ops_.KvWrite(stream_, batch, pool_, case_.layer, Matrix(k, batch.rows), Matrix(v, batch.rows));
    ops_.PagedAttention(stream_, batch, case_.shape, pool_, case_.layer, Matrix(q, batch.rows),
                        Matrix(out, batch.rows));
    auto from = out.begin();
    for (const Chunk& chunk : chunks) {
      std::copy_n(from, chunk.rows * q_width, out_[chunk.sequence].begin() + chunk.first * q_width);
      from += chunk.rows * q_width;
    }
  }

  // All sequences, each step `tokens` of every sequence that has some left.
  void RunInChunks(int64_t tokens) {
    for (int64_t first = 0;; first += tokens) {
      std::vector<Chunk> chunks;
      for (size_t s = 0; s < case_.lengths.size(); ++s) {
        if (first >= case_.lengths[s]) continue;
        chunks.push_back({s, first, std::min(tokens, case_.lengths[s] - first)});
      }
      if (chunks.empty()) return;
      Step(chunks);
    }
  }

  // The rows of the last `tokens` positions were the only ones that attended; keys of earlier
  // positions are written first in one step.
  void Prefill(size_t sequence, int64_t tokens) { Step({{sequence, 0, tokens}}); }

  const std::vector<float>& out(size_t sequence) const { return out_[sequence]; }
  std::vector<float>& query(size_t sequence) { return q_[sequence]; }
  std::vector<float>& keys(size_t sequence) { return k_[sequence]; }
  std::vector<int32_t>& table(size_t sequence) { return tables_[sequence]; }
  const std::vector<uint8_t>& bytes() const { return bytes_; }

 private:
  static void Append(const std::vector<float>& from, const Chunk& chunk, int64_t width,
                     std::vector<float>& to) {
    to.insert(to.end(), from.begin() + chunk.first * width,
              from.begin() + (chunk.first + chunk.rows) * width);
  }

  const AttentionCase case_;
  AttentionOps& ops_;
  Stream& stream_;
  KvPool pool_;
  std::vector<uint8_t> bytes_;
  std::vector<std::vector<int32_t>> tables_;
  std::vector<std::vector<float>> q_;
  std::vector<std::vector<float>> k_;
  std::vector<std::vector<float>> v_;
  std::vector<std::vector<float>> out_;
};

}  // namespace shoal::kernels
