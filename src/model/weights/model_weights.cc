// SPDX-License-Identifier: Apache-2.0
#include "model/weights/model_weights.h"

#include <algorithm>
#include <cstring>
#include <set>
#include <string>
#include <utility>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "base/log.h"
#include "base/status.h"

namespace shoal::model {
namespace {

using kernels::WeightView;

// Binds tensors by name and remembers which were used.
class Binder {
 public:
  explicit Binder(const TensorDirectory& directory) : directory_(directory) {}

  absl::StatusOr<WeightView> Matrix(const std::string& name, int64_t rows, int64_t cols) {
    return Bind(name, {rows, cols});
  }

  absl::StatusOr<WeightView> Vector(const std::string& name, int64_t size) {
    SHOAL_ASSIGN_OR_RETURN(const WeightView view, Bind(name, {size}));
    if (kernels::IsBlockQuantised(view.format)) {
      return absl::InvalidArgumentError(absl::StrCat(
          "tensor ", name, " is ", kernels::Name(view.format), ", but must be F32, F16 or BF16"));
    }
    return view;
  }

  absl::StatusOr<LinearWeights> Linear(const std::string& stem, int64_t rows, int64_t cols,
                                       bool bias) {
    LinearWeights linear;
    SHOAL_ASSIGN_OR_RETURN(linear.weight, Matrix(stem + ".weight", rows, cols));
    if (bias) {
      SHOAL_ASSIGN_OR_RETURN(linear.bias, Vector(stem + ".bias", rows));
    }
    return linear;
  }

  void MarkUsed(const std::string& name) { used_.insert(name); }

  absl::Status RefuseUnused(const Family& family) const {
    std::vector<std::string> unknown;
    size_t count = 0;
    for (const TensorEntry& tensor : directory_.entries()) {
      if (used_.contains(tensor.name) || family.ignored(tensor.name)) continue;
      if (++count <= kNamesShown) unknown.push_back(tensor.name);
    }
    if (count == 0) return absl::OkStatus();
    return absl::InvalidArgumentError(absl::StrCat(
        count, " tensors have no place in a ", family.name, " model of this description: ",
        absl::StrJoin(unknown, ", "), count > kNamesShown ? ", ..." : ""));
  }

 private:
  static constexpr size_t kNamesShown = 4;

  absl::StatusOr<WeightView> Bind(const std::string& name, const std::vector<int64_t>& shape) {
    const TensorEntry* tensor = directory_.Find(name);
    if (tensor == nullptr) {
      return absl::InvalidArgumentError(absl::StrCat("tensor ", name, " is missing"));
    }
    if (tensor->shape != shape) {
      return absl::InvalidArgumentError(
          absl::StrCat("tensor ", name, " has shape [", absl::StrJoin(tensor->shape, ", "),
                       "], but the model's description needs [", absl::StrJoin(shape, ", "), "]"));
    }
    if (!tensor->format.has_value()) {
      return absl::InvalidArgumentError(
          absl::StrCat("tensor ", name, " is ", tensor->type,
                       ", which is not available (F32, F16, BF16, Q8_0, Q4_0, Q4_1, Q5_0, "
                       "Q5_1, Q4_K, Q5_K and Q6_K are)"));
    }
    const int64_t rows = shape.size() == 2 ? shape[0] : 1;
    const int64_t cols = shape.back();
    if (cols % kernels::BlockSize(*tensor->format) != 0 ||
        tensor->bytes != rows * kernels::RowBytes(*tensor->format, cols)) {
      return absl::InvalidArgumentError(absl::StrCat("tensor ", name, " has ", tensor->bytes,
                                                     " bytes, which do not fit ", tensor->type,
                                                     " [", absl::StrJoin(shape, ", "), "]"));
    }
    used_.insert(name);
    return WeightView{.format = *tensor->format, .rows = rows, .cols = cols, .data = tensor->data};
  }

  const TensorDirectory& directory_;
  std::set<std::string, std::less<>> used_;
};

absl::StatusOr<LayerWeights> BindLayer(Binder& binder, const ModelSpec& spec, size_t index,
                                       const LayerNames& names) {
  const AttentionSpec& attention = spec.layers[index].attention;
  const MlpSpec& mlp = spec.layers[index].mlp;
  const int64_t hidden = spec.hidden;
  const int64_t q_width = attention.query_heads * attention.head_dim;
  const int64_t kv_width = attention.kv_heads * attention.head_dim;
  const bool qkv_bias = attention.qkv_bias;
  LayerWeights layer;
  SHOAL_ASSIGN_OR_RETURN(layer.attention_norm, binder.Vector(names.attention_norm, hidden));
  SHOAL_ASSIGN_OR_RETURN(layer.q, binder.Linear(names.q, q_width, hidden, qkv_bias));
  SHOAL_ASSIGN_OR_RETURN(layer.k, binder.Linear(names.k, kv_width, hidden, qkv_bias));
  SHOAL_ASSIGN_OR_RETURN(layer.v, binder.Linear(names.v, kv_width, hidden, qkv_bias));
  SHOAL_ASSIGN_OR_RETURN(layer.o, binder.Linear(names.o, hidden, q_width, attention.out_bias));
  SHOAL_ASSIGN_OR_RETURN(layer.mlp_norm, binder.Vector(names.mlp_norm, hidden));
  SHOAL_ASSIGN_OR_RETURN(layer.gate, binder.Linear(names.gate, mlp.intermediate, hidden, mlp.bias));
  SHOAL_ASSIGN_OR_RETURN(layer.up, binder.Linear(names.up, mlp.intermediate, hidden, mlp.bias));
  SHOAL_ASSIGN_OR_RETURN(layer.down, binder.Linear(names.down, hidden, mlp.intermediate, mlp.bias));
  return layer;
}

// A tied file may carry a head of its own all the same; the embedding is used then.
void WarnIfHeadDiffers(const TensorDirectory& directory, const GlobalNames& names) {
  const TensorEntry* head = directory.Find(names.head);
  const TensorEntry* embedding = directory.Find(names.embedding);
  if (head == nullptr || embedding == nullptr) return;
  const bool equal = head->bytes == embedding->bytes && head->type == embedding->type &&
                     std::memcmp(head->data, embedding->data,
                                 static_cast<size_t>(std::min(head->bytes, embedding->bytes))) == 0;
  DropPages(head->data, head->bytes);
  DropPages(embedding->data, embedding->bytes);
  if (equal) return;
  log::Warning("{} differs from {} although the description says they are tied; {} is used",
               names.head, names.embedding, names.embedding);
}

float HalfToFloat(uint16_t bits) {
  const uint32_t sign = static_cast<uint32_t>(bits & 0x8000) << 16;
  const uint32_t exponent = (bits >> 10) & 0x1F;
  const uint32_t mantissa = bits & 0x3FF;
  if (exponent == 0) {  // zero or subnormal: mantissa * 2^-24, exact
    const float value = static_cast<float>(mantissa) * 0x1p-24f;
    return sign != 0 ? -value : value;
  }
  const uint32_t widened = exponent == 31 ? 0xFF : exponent + 112;
  const uint32_t word = sign | (widened << 23) | (mantissa << 13);
  float value = 0;
  std::memcpy(&value, &word, sizeof(value));
  return value;
}

float Bfloat16ToFloat(uint16_t bits) {
  const uint32_t word = static_cast<uint32_t>(bits) << 16;
  float value = 0;
  std::memcpy(&value, &word, sizeof(value));
  return value;
}

}  // namespace

absl::StatusOr<ModelWeights> BindWeights(const ModelSpec& spec, const TensorDirectory& directory,
                                         Container container) {
  const Family* family = FindFamily(spec.family);
  if (family == nullptr) {
    return absl::InvalidArgumentError(absl::StrCat("family \"", spec.family, "\" is not built"));
  }
  const GlobalNames names = family->global_names(container);
  Binder binder(directory);
  ModelWeights weights;
  SHOAL_ASSIGN_OR_RETURN(weights.embedding,
                         binder.Matrix(names.embedding, spec.vocab_size, spec.hidden));
  for (size_t i = 0; i < spec.layers.size(); ++i) {
    SHOAL_ASSIGN_OR_RETURN(
        LayerWeights layer,
        BindLayer(binder, spec, i, family->layer_names(container, static_cast<int64_t>(i))));
    weights.layers.push_back(std::move(layer));
  }
  SHOAL_ASSIGN_OR_RETURN(weights.final_norm, binder.Vector(names.final_norm, spec.hidden));
  if (spec.tied_head) {
    weights.head = weights.embedding;
    binder.MarkUsed(names.head);
    WarnIfHeadDiffers(directory, names);
  } else {
    SHOAL_ASSIGN_OR_RETURN(weights.head, binder.Matrix(names.head, spec.vocab_size, spec.hidden));
  }
  SHOAL_RETURN_IF_ERROR(binder.RefuseUnused(*family));
  return weights;
}

std::vector<float> ReadVector(const WeightView& view) {
  std::vector<float> values(static_cast<size_t>(view.rows * view.cols));
  if (view.format == kernels::WeightFormat::kF32) {
    std::memcpy(values.data(), view.data, values.size() * sizeof(float));
    return values;
  }
  SHOAL_CHECK(!kernels::IsBlockQuantised(view.format));
  const bool half = view.format == kernels::WeightFormat::kF16;
  const auto* bytes = static_cast<const uint8_t*>(view.data);
  for (size_t i = 0; i < values.size(); ++i) {
    uint16_t bits = 0;
    std::memcpy(&bits, bytes + i * sizeof(bits), sizeof(bits));
    values[i] = half ? HalfToFloat(bits) : Bfloat16ToFloat(bits);
  }
  return values;
}

}  // namespace shoal::model
