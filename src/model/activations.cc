// SPDX-License-Identifier: Apache-2.0
#include "model/activations.h"

#include <algorithm>

#include "absl/strings/str_cat.h"

namespace shoal::model {
namespace {

constexpr int64_t kAlignment = 64;
constexpr int64_t kRowsMax = int64_t{1} << 20;
constexpr int64_t kShardsMax = 4096;

// Hands out consecutive aligned pieces of an arena.
class Cursor {
 public:
  int64_t Take(int64_t rows, int64_t width) {
    const int64_t begin = end_;
    const int64_t bytes = rows * width * static_cast<int64_t>(sizeof(float));
    end_ += (bytes + kAlignment - 1) / kAlignment * kAlignment;
    return begin;
  }
  int64_t end() const { return end_; }

 private:
  int64_t end_ = 0;
};

}  // namespace

ActivationPlan PlanActivations(const ModelSpec& spec, const DecoderOptions& options) {
  int64_t wide = 0;
  int64_t narrow = 0;
  for (const LayerSpec& layer : spec.layers) {
    const AttentionSpec& attention = layer.attention;
    const int64_t heads = attention.query_heads + 2 * attention.kv_heads;
    wide = std::max({wide, heads * attention.head_dim, 2 * layer.mlp.intermediate});
    narrow = std::max({narrow, attention.query_heads * attention.head_dim, layer.mlp.intermediate});
  }
  ActivationPlan plan;
  plan.rows_max = options.max_batch_tokens;
  plan.logits_rows_max =
      options.max_logits_rows > 0 ? options.max_logits_rows : options.max_batch_tokens;
  Cursor cursor;
  plan.hidden = cursor.Take(plan.rows_max, spec.hidden);
  plan.normed = cursor.Take(plan.rows_max, spec.hidden);
  plan.wide = cursor.Take(plan.rows_max, wide);
  plan.narrow = cursor.Take(plan.rows_max, narrow);
  plan.selected = cursor.Take(plan.logits_rows_max, spec.hidden);
  plan.logits = cursor.Take(plan.logits_rows_max, spec.vocab_size);
  plan.bytes = cursor.end();
  return plan;
}

absl::Status ValidateOptions(const DecoderOptions& options) {
  if (options.max_batch_tokens < 1 || options.max_batch_tokens > kRowsMax) {
    return absl::InvalidArgumentError(absl::StrCat("max_batch_tokens is ", options.max_batch_tokens,
                                                   ", outside [1, ", kRowsMax, "]"));
  }
  if (options.max_logits_rows < 0 || options.max_logits_rows > options.max_batch_tokens) {
    return absl::InvalidArgumentError(
        absl::StrCat("max_logits_rows is ", options.max_logits_rows,
                     ", outside [0, max_batch_tokens = ", options.max_batch_tokens, "]"));
  }
  if (options.numerics.shards < 1 || options.numerics.shards > kShardsMax) {
    return absl::InvalidArgumentError(absl::StrCat("numerics.shards is ", options.numerics.shards,
                                                   ", outside [1, ", kShardsMax, "]"));
  }
  const kernels::DType kv = options.numerics.kv_dtype;
  if (kv != kernels::DType::kF32 && kv != kernels::DType::kF16) {
    return absl::InvalidArgumentError(
        absl::StrCat("kv.dtype ", kernels::Name(kv), " is not available yet (float32, float16)"));
  }
  const parallel::Layout& layout = options.topology.layout();
  if (layout.world() != 1) {
    return absl::UnimplementedError(absl::StrCat("parallel: tensor ", layout.tensor, " x pipeline ",
                                                 layout.pipeline, " x data ", layout.data,
                                                 " is not available yet; use 1 x 1 x 1"));
  }
  return absl::OkStatus();
}

}  // namespace shoal::model
