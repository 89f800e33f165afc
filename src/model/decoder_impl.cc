// SPDX-License-Identifier: Apache-2.0
#include "model/decoder_impl.h"

#include <optional>

#include "absl/strings/str_cat.h"
#include "base/status.h"
#include "kernels/kv_layout.h"
#include "model/weights/matrix_sources.h"

namespace shoal::model {
namespace {

using kernels::DType;
using kernels::Tensor;

constexpr char kWeightsArena[] = "weights";
constexpr char kActivationsArena[] = "activations";

void DropPages(const kernels::WeightView& view) {
  model::DropPages(static_cast<const uint8_t*>(view.data),
                   view.rows * kernels::RowBytes(view.format, view.cols));
}

// Whether the backends can keep this model's keys and values; independent of the pool's block size.
absl::Status CheckKvGroups(const ModelSpec& spec, kernels::DType dtype) {
  for (const KvGroup& group : spec.kv_groups) {
    SHOAL_RETURN_IF_ERROR(
        kernels::CheckKvLayout({.kv_heads = group.kv_heads,
                                .layers = static_cast<int64_t>(group.layers.size()),
                                .head_dim = group.head_dim,
                                .dtype = dtype}));
  }
  return absl::OkStatus();
}

struct Layer {
  AttentionBlock attention;
  MlpBlock mlp;
};

class DecoderImpl final : public Decoder {
 public:
  DecoderImpl(kernels::Backend& backend, const ModelSpec& spec, const DecoderOptions& options,
              std::unique_ptr<kernels::Arena> activations)
      : backend_(backend),
        spec_(spec),
        kv_dtype_(options.numerics.kv_dtype),
        plan_(PlanActivations(spec, options)),
        activations_(std::move(activations)) {}

  absl::Status Prepare(parallel::Communicator& group, const ModelWeights& weights,
                       const NumericsOptions& numerics);

  const ModelSpec& spec() const override { return spec_; }
  absl::StatusOr<Tensor> Forward(kernels::Stream& stream, const ForwardInput& input) override;
  std::vector<std::pair<std::string, int64_t>> MemoryUse() const override;

 private:
  absl::Status CheckInput(const ForwardInput& input) const;
  absl::Status CheckGroup(const ForwardInput& input, size_t group) const;
  absl::Status RunLayer(kernels::Stream& stream, const ForwardInput& input, size_t index,
                        const Tensor& hidden) const;
  absl::StatusOr<Tensor> Logits(kernels::Stream& stream, std::span<const int32_t> rows,
                                const Tensor& hidden) const;
  Tensor Activation(int64_t offset, int64_t rows, int64_t width) const {
    return Tensor(activations_->data() + offset, DType::kF32, {rows, width});
  }

  kernels::Backend& backend_;
  const ModelSpec spec_;
  const DType kv_dtype_;
  const ActivationPlan plan_;
  std::unique_ptr<kernels::Arena> activations_;
  std::optional<parallel::VocabularyEmbedding> embedding_;
  std::optional<Norm> embedding_norm_;
  std::vector<Layer> layers_;
  std::optional<Norm> final_norm_;
  std::optional<parallel::VocabularyHead> head_;
};

absl::Status DecoderImpl::Prepare(parallel::Communicator& group, const ModelWeights& weights,
                                  const NumericsOptions& numerics) {
  SHOAL_ASSIGN_OR_RETURN(embedding_, parallel::VocabularyEmbedding::Create(
                                         backend_, group, weights.embedding, "embedding"));
  for (size_t i = 0; i < spec_.layers.size(); ++i) {
    const LayerWeights& layer = weights.layers[i];
    const LayerSources sources = MakeLayerSources(spec_, layer, i, numerics);
    SHOAL_ASSIGN_OR_RETURN(
        AttentionBlock attention,
        AttentionBlock::Create(backend_, group, spec_, i, numerics.long_rope, layer, sources));
    SHOAL_ASSIGN_OR_RETURN(MlpBlock mlp,
                           MlpBlock::Create(backend_, group, spec_, i, layer, sources));
    layers_.push_back({.attention = std::move(attention), .mlp = std::move(mlp)});
    for (const LinearWeights* linear : {&layer.qkv, &layer.o, &layer.gate_up, &layer.down}) {
      for (const kernels::WeightView& part : linear->parts) DropPages(part);
    }
  }
  if (weights.embedding_norm.has_value()) {
    embedding_norm_.emplace(spec_.norm, *weights.embedding_norm);
  }
  final_norm_.emplace(spec_.norm, weights.final_norm);
  SHOAL_ASSIGN_OR_RETURN(
      head_, parallel::VocabularyHead::Create(backend_, group, MakeHeadSource(weights, numerics)));
  DropPages(weights.embedding);
  DropPages(weights.head);
  return absl::OkStatus();
}

absl::Status DecoderImpl::CheckGroup(const ForwardInput& input, size_t group) const {
  const KvGroup& wanted = spec_.kv_groups[group];
  const kernels::KvLayout& layout = input.pools[group].layout;
  SHOAL_RETURN_IF_ERROR(Annotate(kernels::CheckKvLayout(layout), "forward"));
  if (layout.kv_heads != wanted.kv_heads || layout.head_dim != wanted.head_dim ||
      layout.layers != static_cast<int64_t>(wanted.layers.size()) || layout.dtype != kv_dtype_) {
    return absl::InvalidArgumentError(absl::StrCat(
        "forward: the pool of KV group ", group, " holds ", layout.kv_heads, " heads x ",
        layout.head_dim, " x ", layout.layers, " layers of ", kernels::Name(layout.dtype),
        ", but the model needs ", wanted.kv_heads, " x ", wanted.head_dim, " x ",
        wanted.layers.size(), " of ", kernels::Name(kv_dtype_)));
  }
  const int64_t rows = input.batches[group].rows;
  if (rows == static_cast<int64_t>(input.tokens.size())) return absl::OkStatus();
  return absl::InvalidArgumentError(absl::StrCat("forward: the batch of KV group ", group, " has ",
                                                 rows, " rows, the step ", input.tokens.size(),
                                                 " tokens"));
}

absl::Status DecoderImpl::CheckInput(const ForwardInput& input) const {
  const auto rows = static_cast<int64_t>(input.tokens.size());
  if (rows < 1 || rows > plan_.rows_max) {
    return absl::InvalidArgumentError(
        absl::StrCat("forward: ", rows, " rows, outside [1, ", plan_.rows_max, "]"));
  }
  if (input.positions.size() != input.tokens.size()) {
    return absl::InvalidArgumentError(
        absl::StrCat("forward: ", input.positions.size(), " positions for ", rows, " tokens"));
  }
  const auto logits_rows = static_cast<int64_t>(input.logits_rows.size());
  if (logits_rows > plan_.logits_rows_max) {
    return absl::InvalidArgumentError(
        absl::StrCat("forward: logits of ", logits_rows, " rows, above ", plan_.logits_rows_max));
  }
  for (const int32_t token : input.tokens) {
    if (token < 0 || token >= spec_.vocab_size) {
      return absl::InvalidArgumentError(absl::StrCat(
          "forward: token ", token, " is outside the vocabulary of ", spec_.vocab_size));
    }
  }
  for (const int32_t row : input.logits_rows) {
    if (row < 0 || row >= rows) {
      return absl::InvalidArgumentError(absl::StrCat("forward: logits of row ", row, " of ", rows));
    }
  }
  const size_t groups = spec_.kv_groups.size();
  if (input.batches.size() != groups || input.pools.size() != groups) {
    return absl::InvalidArgumentError(absl::StrCat("forward: ", input.batches.size(),
                                                   " batches and ", input.pools.size(),
                                                   " pools for ", groups, " KV groups"));
  }
  for (size_t i = 0; i < groups; ++i) SHOAL_RETURN_IF_ERROR(CheckGroup(input, i));
  return absl::OkStatus();
}

absl::Status DecoderImpl::RunLayer(kernels::Stream& stream, const ForwardInput& input, size_t index,
                                   const Tensor& hidden) const {
  const LayerSpec& layer = spec_.layers[index];
  const int64_t rows = hidden.dim(0);
  const auto group = static_cast<size_t>(layer.kv_group);
  const int64_t head_dim = layer.attention.head_dim;
  const int64_t q_width = layer.attention.query_heads * head_dim;
  const int64_t qkv_width = q_width + 2 * layer.attention.kv_heads * head_dim;
  const Tensor normed = Activation(plan_.normed, rows, spec_.hidden);
  SHOAL_RETURN_IF_ERROR(layers_[index].attention.Apply(
      stream,
      {.positions = input.positions, .batch = input.batches[group], .pool = input.pools[group]},
      {.normed = normed,
       .qkv = Activation(plan_.wide, rows, qkv_width),
       .mixed = Activation(plan_.narrow, rows, q_width)},
      hidden));
  return layers_[index].mlp.Apply(
      stream,
      {.normed = normed,
       .gate_up = Activation(plan_.wide, rows, 2 * layer.mlp.intermediate),
       .gated = Activation(plan_.narrow, rows, layer.mlp.intermediate)},
      hidden);
}

absl::StatusOr<Tensor> DecoderImpl::Logits(kernels::Stream& stream, std::span<const int32_t> rows,
                                           const Tensor& hidden) const {
  const auto count = static_cast<int64_t>(rows.size());
  const Tensor logits = Activation(plan_.logits, count, spec_.vocab_size);
  if (count == 0) return logits;
  const Tensor selected = Activation(plan_.selected, count, spec_.hidden);
  backend_.dense().GatherRows(stream, hidden, rows, selected);
  final_norm_->Apply(backend_.dense(), stream, selected, selected);
  SHOAL_RETURN_IF_ERROR(head_->Apply(stream, selected, logits));
  if (spec_.final_softcap > 0) backend_.dense().Softcap(stream, spec_.final_softcap, logits);
  return logits;
}

absl::StatusOr<Tensor> DecoderImpl::Forward(kernels::Stream& stream, const ForwardInput& input) {
  SHOAL_RETURN_IF_ERROR(CheckInput(input));
  const Tensor hidden =
      Activation(plan_.hidden, static_cast<int64_t>(input.tokens.size()), spec_.hidden);
  SHOAL_RETURN_IF_ERROR(embedding_->Apply(stream, input.tokens, spec_.embedding_scale, hidden));
  if (embedding_norm_.has_value()) {
    embedding_norm_->Apply(backend_.dense(), stream, hidden, hidden);
  }
  for (size_t i = 0; i < layers_.size(); ++i) {
    SHOAL_RETURN_IF_ERROR(
        Annotate(RunLayer(stream, input, i, hidden), absl::StrCat("forward: layer ", i)));
  }
  return Logits(stream, input.logits_rows, hidden);
}

std::vector<std::pair<std::string, int64_t>> DecoderImpl::MemoryUse() const {
  int64_t weights = embedding_->bytes() + head_->bytes() + final_norm_->bytes();
  if (embedding_norm_.has_value()) weights += embedding_norm_->bytes();
  for (const Layer& layer : layers_) weights += layer.attention.bytes() + layer.mlp.bytes();
  return {{kWeightsArena, weights}, {kActivationsArena, activations_->bytes()}};
}

}  // namespace

absl::StatusOr<std::unique_ptr<Decoder>> CreateDecoderImpl(kernels::Backend& backend,
                                                           parallel::Communicator& tensor_group,
                                                           const ModelSpec& spec,
                                                           const ModelWeights& weights,
                                                           const DecoderOptions& options) {
  SHOAL_RETURN_IF_ERROR(ValidateOptions(options));
  SHOAL_RETURN_IF_ERROR(CheckKvGroups(spec, options.numerics.kv_dtype));
  const int64_t bytes = PlanActivations(spec, options).bytes;
  SHOAL_ASSIGN_OR_RETURN(std::unique_ptr<kernels::Arena> activations,
                         backend.Allocate(kActivationsArena, bytes));
  auto decoder = std::make_unique<DecoderImpl>(backend, spec, options, std::move(activations));
  SHOAL_RETURN_IF_ERROR(decoder->Prepare(tensor_group, weights, options.numerics));
  return std::unique_ptr<Decoder>(std::move(decoder));
}

absl::StatusOr<std::vector<std::pair<std::string, int64_t>>> PlanDecoderMemory(
    const kernels::Backend& backend, const ModelSpec& spec, const ModelWeights& weights,
    const DecoderOptions& options) {
  SHOAL_RETURN_IF_ERROR(ValidateOptions(options));
  SHOAL_RETURN_IF_ERROR(CheckKvGroups(spec, options.numerics.kv_dtype));
  int64_t bytes = backend.PreparedTableBytes(weights.embedding);
  bytes += backend.PreparedBytes(MakeHeadSource(weights, options.numerics));
  bytes += NormBytes(weights.final_norm);
  if (weights.embedding_norm.has_value()) bytes += NormBytes(*weights.embedding_norm);
  for (size_t i = 0; i < spec.layers.size(); ++i) {
    const LayerWeights& layer = weights.layers[i];
    const LayerSources sources = MakeLayerSources(spec, layer, i, options.numerics);
    for (const kernels::MatrixSource* source :
         {&sources.qkv, &sources.out, &sources.gate_up, &sources.down}) {
      bytes += backend.PreparedBytes(*source);
    }
    for (const NormWeights* norm : layer.norms()) bytes += NormBytes(*norm);
  }
  return std::vector<std::pair<std::string, int64_t>>{
      {kWeightsArena, bytes}, {kActivationsArena, PlanActivations(spec, options).bytes}};
}

}  // namespace shoal::model
