// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <cmath>
#include <vector>

#include "base/check.h"
#include "kernels/cpu/f16.h"
#include "kernels/kv_layout.h"
#include "kernels/reference/reference_ops.h"

namespace shoal::kernels::reference {
namespace {

// One element of the cache: `index` counts elements of the span.
double Load(const KvPool& pool, const uint8_t* span, int64_t index) {
  if (pool.layout.dtype == DType::kF32) {
    return double{reinterpret_cast<const float*>(span)[index]};
  }
  return double{cpu::F16ToFloat(reinterpret_cast<const uint16_t*>(span)[index])};
}

void Store(const KvPool& pool, uint8_t* span, int64_t index, float value) {
  if (pool.layout.dtype == DType::kF32) {
    reinterpret_cast<float*>(span)[index] = value;
    return;
  }
  reinterpret_cast<uint16_t*>(span)[index] = cpu::FloatToF16Saturating(value);
}

class ReferenceAttentionOps final : public AttentionOps {
 public:
  void KvWrite(Stream& stream, const AttentionBatch& batch, const KvPool& pool, int64_t layer,
               const Tensor& k, const Tensor& v) override {
    SHOAL_CHECK(CheckKvLayout(pool.layout).ok());
    const KvLayout& layout = pool.layout;
    for (const AttentionSequence& sequence : batch.sequences) {
      for (int64_t token = 0; token < sequence.rows; ++token) {
        const int64_t position = sequence.first_position + token;
        const int64_t slot = position % layout.block_tokens;
        const int64_t block =
            sequence.block_table[static_cast<size_t>(position / layout.block_tokens)];
        for (int64_t i = 0; i < layout.kv_heads * layout.head_dim; ++i) {
          const int64_t head = i / layout.head_dim;
          const int64_t d = i % layout.head_dim;
          Store(pool, KvSpan(pool, block, head, layer, false), d * layout.block_tokens + slot,
                k.Row<float>(sequence.first_row + token)[i]);
          Store(pool, KvSpan(pool, block, head, layer, true), slot * layout.head_dim + d,
                v.Row<float>(sequence.first_row + token)[i]);
        }
      }
    }
  }

  void PagedAttention(Stream& stream, const AttentionBatch& batch, const AttentionShape& shape,
                      const KvPool& pool, int64_t layer, const Tensor& q,
                      const Tensor& out) override {
    for (const AttentionSequence& sequence : batch.sequences) {
      for (int64_t token = 0; token < sequence.rows; ++token) {
        for (int64_t head = 0; head < shape.query_heads; ++head) {
          AttendRow(sequence, token, head, shape, pool, layer, q, out);
        }
      }
    }
  }

 private:
  static void AttendRow(const AttentionSequence& sequence, int64_t token, int64_t head,
                        const AttentionShape& shape, const KvPool& pool, int64_t layer,
                        const Tensor& q, const Tensor& out) {
    const int64_t block_tokens = pool.layout.block_tokens;
    const int64_t dim = shape.head_dim;
    const int64_t position = sequence.first_position + token;
    const int64_t first = FirstVisible(position, shape.window);
    const int64_t kv_head = head * shape.kv_heads / shape.query_heads;
    const float* query = q.Row<float>(sequence.first_row + token) + head * dim;
    const auto span_of = [&](int64_t key, bool value) {
      const int64_t block = sequence.block_table[static_cast<size_t>(key / block_tokens)];
      return KvSpan(pool, block, kv_head, layer, value);
    };
    std::vector<double> scores;
    for (int64_t key = first; key <= position; ++key) {
      double dot = 0;
      for (int64_t d = 0; d < dim; ++d) {
        dot += double{query[d]} *
               Load(pool, span_of(key, false), d * block_tokens + key % block_tokens);
      }
      dot *= double{shape.scale};
      if (!shape.slopes.empty()) {
        dot +=
            double{shape.slopes[static_cast<size_t>(head)]} * static_cast<double>(key - position);
      }
      const double cap = double{shape.softcap};
      scores.push_back(cap == 0 ? dot : cap * std::tanh(dot / cap));
    }
    const double maximum = *std::max_element(scores.begin(), scores.end());
    double sum = 0;
    for (double& score : scores) sum += score = std::exp(score - maximum);
    for (int64_t d = 0; d < dim; ++d) {
      double value = 0;
      for (int64_t key = first; key <= position; ++key) {
        value += scores[static_cast<size_t>(key - first)] *
                 Load(pool, span_of(key, true), key % block_tokens * dim + d);
      }
      out.Row<float>(sequence.first_row + token)[head * dim + d] = static_cast<float>(value / sum);
    }
  }
};

}  // namespace

std::unique_ptr<AttentionOps> CreateReferenceAttentionOps() {
  return std::make_unique<ReferenceAttentionOps>();
}

}  // namespace shoal::kernels::reference
