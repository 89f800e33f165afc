// SPDX-License-Identifier: Apache-2.0
#include "model/weights/model_weights.h"

#include <algorithm>
#include <cstring>
#include <set>
#include <string>
#include <utility>

#include "absl/strings/match.h"
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
  Binder(const TensorDirectory& directory, const Family& family)
      : directory_(directory), family_(family) {}

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

  // Whole tensors `stem`.weight and, if wanted, `stem`.bias, appended to `linear`.
  absl::Status AddLinear(const std::string& stem, int64_t rows, int64_t cols, bool bias,
                         LinearWeights& linear) {
    SHOAL_ASSIGN_OR_RETURN(const WeightView weight, Matrix(stem + ".weight", rows, cols));
    linear.parts.push_back(weight);
    if (!bias) return absl::OkStatus();
    SHOAL_ASSIGN_OR_RETURN(const WeightView values, Vector(stem + ".bias", rows));
    linear.bias.push_back(values);
    return absl::OkStatus();
  }

  absl::StatusOr<LinearWeights> Linear(const std::string& stem, int64_t rows, int64_t cols,
                                       bool bias) {
    LinearWeights linear;
    SHOAL_RETURN_IF_ERROR(AddLinear(stem, rows, cols, bias, linear));
    return linear;
  }

  absl::StatusOr<NormWeights> Norm(const std::string& stem, int64_t size, const NormSpec& spec) {
    NormWeights norm;
    SHOAL_ASSIGN_OR_RETURN(norm.weight, Vector(stem + ".weight", size));
    if (spec.bias) {
      SHOAL_ASSIGN_OR_RETURN(norm.bias, Vector(stem + ".bias", size));
    }
    return norm;
  }

  void MarkUsed(const std::string& name) { used_.insert(name); }

  absl::Status RefuseUnused() const {
    std::vector<std::string> unknown;
    size_t count = 0;
    for (const TensorEntry& tensor : directory_.entries()) {
      if (used_.contains(tensor.name) || family_.ignored(tensor.name)) continue;
      if (++count <= kNamesShown) unknown.push_back(tensor.name);
    }
    if (count == 0) return absl::OkStatus();
    return absl::InvalidArgumentError(absl::StrCat(
        count, " tensors have no place in a ", family_.name, " model of this description: ",
        absl::StrJoin(unknown, ", "), count > kNamesShown ? ", ..." : ""));
  }

 private:
  static constexpr size_t kNamesShown = 4;

  absl::StatusOr<WeightView> Bind(const std::string& name, const std::vector<int64_t>& shape) {
    const TensorEntry* tensor = directory_.Find(name);
    if (tensor == nullptr && !family_.optional_prefix.empty() &&
        absl::StartsWith(name, family_.optional_prefix)) {
      tensor = directory_.Find(absl::string_view(name).substr(family_.optional_prefix.size()));
    }
    if (tensor == nullptr) {
      return absl::InvalidArgumentError(absl::StrCat("tensor ", name, " is missing"));
    }
    if (!tensor->format.has_value()) {
      return absl::InvalidArgumentError(
          absl::StrCat("tensor ", name, " is ", tensor->type,
                       ", which is not available (F32, F16, BF16, Q8_0, Q4_0, Q4_1, Q5_0, "
                       "Q5_1, Q4_K, Q5_K and Q6_K are)"));
    }
    if (tensor->shape != shape) {
      return absl::InvalidArgumentError(
          absl::StrCat("tensor ", name, " has shape [", absl::StrJoin(tensor->shape, ", "),
                       "], but the model's description needs [", absl::StrJoin(shape, ", "), "]"));
    }
    const int64_t rows = shape.size() == 2 ? shape[0] : 1;
    const int64_t cols = shape.back();
    if (cols % kernels::BlockSize(*tensor->format) != 0 ||
        tensor->bytes != rows * kernels::RowBytes(*tensor->format, cols)) {
      return absl::InvalidArgumentError(absl::StrCat("tensor ", name, " has ", tensor->bytes,
                                                     " bytes, which do not fit ", tensor->type,
                                                     " [", absl::StrJoin(shape, ", "), "]"));
    }
    used_.insert(tensor->name);
    return WeightView{.format = *tensor->format, .rows = rows, .cols = cols, .data = tensor->data};
  }

  const TensorDirectory& directory_;
  const Family& family_;
  std::set<std::string, std::less<>> used_;
};

// Rows [first, first + rows) of a matrix.
WeightView Rows(const WeightView& view, int64_t first, int64_t rows) {
  WeightView part = view;
  part.rows = rows;
  part.data =
      static_cast<const uint8_t*>(view.data) + first * kernels::RowBytes(view.format, view.cols);
  return part;
}

// Values [first, first + count) of a [1, n] view of an unquantised format.
WeightView Values(const WeightView& view, int64_t first, int64_t count) {
  WeightView part = view;
  part.cols = count;
  part.data = static_cast<const uint8_t*>(view.data) + kernels::RowBytes(view.format, first);
  return part;
}

// From (q, k, v) of each head to all q, all k, all v.
LinearWeights SortHeads(const LinearWeights& fused, int64_t heads, int64_t head_dim) {
  LinearWeights sorted;
  for (int64_t part = 0; part < 3; ++part) {
    for (int64_t head = 0; head < heads; ++head) {
      const int64_t first = (head * 3 + part) * head_dim;
      sorted.parts.push_back(Rows(fused.parts[0], first, head_dim));
      if (!fused.bias.empty()) sorted.bias.push_back(Values(fused.bias[0], first, head_dim));
    }
  }
  return sorted;
}

absl::StatusOr<LinearWeights> BindQkv(Binder& binder, const ModelSpec& spec,
                                      const AttentionSpec& attention, const LayerNames& names) {
  const int64_t q_width = attention.query_heads * attention.head_dim;
  const int64_t kv_width = attention.kv_heads * attention.head_dim;
  const bool bias = attention.qkv_bias;
  LinearWeights qkv;
  if (!names.qkv.empty()) {
    SHOAL_RETURN_IF_ERROR(
        binder.AddLinear(names.qkv, q_width + 2 * kv_width, spec.hidden, bias, qkv));
    if (names.qkv_by_head) qkv = SortHeads(qkv, attention.query_heads, attention.head_dim);
    return qkv;
  }
  SHOAL_RETURN_IF_ERROR(binder.AddLinear(names.q, q_width, spec.hidden, bias, qkv));
  SHOAL_RETURN_IF_ERROR(binder.AddLinear(names.k, kv_width, spec.hidden, bias, qkv));
  SHOAL_RETURN_IF_ERROR(binder.AddLinear(names.v, kv_width, spec.hidden, bias, qkv));
  return qkv;
}

absl::StatusOr<LinearWeights> BindGateUp(Binder& binder, const ModelSpec& spec, const MlpSpec& mlp,
                                         const LayerNames& names) {
  if (mlp.gated && !names.gate_up.empty()) {
    return binder.Linear(names.gate_up, 2 * mlp.intermediate, spec.hidden, mlp.bias);
  }
  LinearWeights gate_up;
  if (mlp.gated) {
    SHOAL_RETURN_IF_ERROR(
        binder.AddLinear(names.gate, mlp.intermediate, spec.hidden, mlp.bias, gate_up));
  }
  SHOAL_RETURN_IF_ERROR(
      binder.AddLinear(names.up, mlp.intermediate, spec.hidden, mlp.bias, gate_up));
  return gate_up;
}

absl::StatusOr<LayerWeights> BindLayer(Binder& binder, const ModelSpec& spec, size_t index,
                                       const LayerNames& names) {
  const AttentionSpec& attention = spec.layers[index].attention;
  const MlpSpec& mlp = spec.layers[index].mlp;
  const int64_t hidden = spec.hidden;
  const int64_t q_width = attention.query_heads * attention.head_dim;
  const NormSpec& norm = spec.norm;
  LayerWeights layer;
  SHOAL_ASSIGN_OR_RETURN(layer.attention_norm, binder.Norm(names.attention_norm, hidden, norm));
  SHOAL_ASSIGN_OR_RETURN(layer.qkv, BindQkv(binder, spec, attention, names));
  if (attention.qk_norm) {
    SHOAL_ASSIGN_OR_RETURN(layer.q_norm, binder.Norm(names.q_norm, attention.head_dim, norm));
    SHOAL_ASSIGN_OR_RETURN(layer.k_norm, binder.Norm(names.k_norm, attention.head_dim, norm));
  }
  SHOAL_ASSIGN_OR_RETURN(layer.o, binder.Linear(names.o, hidden, q_width, attention.out_bias));
  SHOAL_ASSIGN_OR_RETURN(layer.mlp_norm, binder.Norm(names.mlp_norm, hidden, norm));
  SHOAL_ASSIGN_OR_RETURN(layer.gate_up, BindGateUp(binder, spec, mlp, names));
  SHOAL_ASSIGN_OR_RETURN(layer.down, binder.Linear(names.down, hidden, mlp.intermediate, mlp.bias));
  if (spec.post_norms) {
    SHOAL_ASSIGN_OR_RETURN(layer.post_attention_norm,
                           binder.Norm(names.post_attention_norm, hidden, norm));
    SHOAL_ASSIGN_OR_RETURN(layer.post_mlp_norm, binder.Norm(names.post_mlp_norm, hidden, norm));
  }
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

std::vector<const NormWeights*> LayerWeights::norms() const {
  std::vector<const NormWeights*> list = {&attention_norm, &mlp_norm};
  for (const auto* norm : {&q_norm, &k_norm, &post_attention_norm, &post_mlp_norm}) {
    if (norm->has_value()) list.push_back(&norm->value());
  }
  return list;
}

absl::StatusOr<ModelWeights> BindWeights(const ModelSpec& spec, const TensorDirectory& directory,
                                         Container container) {
  const Family* family = FindFamily(spec.family);
  if (family == nullptr) {
    return absl::InvalidArgumentError(absl::StrCat("family \"", spec.family, "\" is not built"));
  }
  const GlobalNames names = family->global_names(container);
  Binder binder(directory, *family);
  ModelWeights weights;
  SHOAL_ASSIGN_OR_RETURN(weights.embedding,
                         binder.Matrix(names.embedding, spec.vocab_size, spec.hidden));
  if (spec.embedding_norm) {
    SHOAL_ASSIGN_OR_RETURN(weights.embedding_norm,
                           binder.Norm(names.embedding_norm, spec.hidden, spec.norm));
  }
  for (size_t i = 0; i < spec.layers.size(); ++i) {
    SHOAL_ASSIGN_OR_RETURN(
        LayerWeights layer,
        BindLayer(binder, spec, i, family->layer_names(container, static_cast<int64_t>(i))));
    weights.layers.push_back(std::move(layer));
  }
  SHOAL_ASSIGN_OR_RETURN(weights.final_norm, binder.Norm(names.final_norm, spec.hidden, spec.norm));
  if (spec.tied_head) {
    weights.head = weights.embedding;
    binder.MarkUsed(names.head);
    WarnIfHeadDiffers(directory, names);
  } else {
    SHOAL_ASSIGN_OR_RETURN(weights.head, binder.Matrix(names.head, spec.vocab_size, spec.hidden));
  }
  SHOAL_RETURN_IF_ERROR(binder.RefuseUnused());
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
