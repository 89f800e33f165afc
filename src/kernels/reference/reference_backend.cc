// SPDX-License-Identifier: Apache-2.0
#include "kernels/reference/reference_backend.h"

#include <utility>

#include "absl/status/status.h"
#include "absl/strings/str_cat.h"
#include "base/check.h"
#include "kernels/cpu/host_arena.h"
#include "kernels/cpu/matmul/prepared_matrix.h"
#include "kernels/reference/reference_ops.h"

namespace shoal::kernels::reference {
namespace {

class ReferenceStream final : public Stream {
 public:
  absl::Status Synchronize() override { return absl::OkStatus(); }
};

class ReferenceDenseOps final : public DenseOps {
 public:
  void Embed(Stream&, const PreparedTable& table, std::span<const int32_t> tokens, float scale,
             const Tensor& out) override {
    for (int64_t r = 0; r < static_cast<int64_t>(tokens.size()); ++r) {
      const int32_t token = tokens[static_cast<size_t>(r)];
      SHOAL_CHECK(token >= 0);
      SHOAL_CHECK(token < table.rows());
      const double* row = static_cast<const ReferenceTable&>(table).Row(token);
      for (int64_t k = 0; k < table.cols(); ++k) {
        out.Row<float>(r)[k] = static_cast<float>(row[k] * scale);
      }
    }
  }
  void RmsNorm(Stream&, const Tensor& x, std::span<const float> weight, float eps,
               const Tensor& out) override {
    reference::RmsNorm(x, weight, eps, out);
  }
  void LayerNorm(Stream&, const Tensor& x, std::span<const float> weight,
                 std::span<const float> bias, float eps, const Tensor& out) override {
    reference::LayerNorm(x, weight, bias, eps, out);
  }
  void HeadRmsNorm(Stream&, const Tensor& x, std::span<const float> weight, float eps,
                   const Tensor& out) override {
    reference::HeadRmsNorm(x, weight, eps, out);
  }
  void MatMul(Stream&, const Tensor& in, const PreparedMatrix& weight, const Tensor& out) override {
    ForEachSum(in, weight, out, [](float& y, double sum) { y = static_cast<float>(sum); });
  }
  void MatMulAdd(Stream&, const Tensor& in, const PreparedMatrix& weight,
                 const Tensor& residual) override {
    ForEachSum(in, weight, residual, [](float& y, double sum) { y = static_cast<float>(y + sum); });
  }
  void Rope(Stream&, const RopeTable& table, std::span<const int32_t> positions, int64_t head_dim,
            const Tensor& x) override {
    reference::Rope(table, positions, head_dim, x);
  }
  void SiluMul(Stream&, const Tensor& gate_up, const Tensor& out) override {
    reference::SiluMul(gate_up, out);
  }
  void GeluMul(Stream&, const Tensor& gate_up, const Tensor& out) override {
    reference::GeluMul(gate_up, out);
  }
  void Gelu(Stream&, const Tensor& x) override { reference::Gelu(x); }
  void Softcap(Stream&, float cap, const Tensor& x) override { reference::Softcap(cap, x); }
  void Add(Stream&, const Tensor& y, const Tensor& x) override { reference::Add(y, x); }
  void GatherRows(Stream&, const Tensor& x, std::span<const int32_t> rows,
                  const Tensor& out) override {
    reference::GatherRows(x, rows, out);
  }

 private:
  template <typename Write>
  static void ForEachSum(const Tensor& in, const PreparedMatrix& weight, const Tensor& out,
                         Write write) {
    SHOAL_CHECK(in.dim(1) == weight.cols());
    SHOAL_CHECK(out.dim(1) == weight.rows());
    SHOAL_CHECK(in.dim(0) == out.dim(0));
    for (int64_t r = 0; r < in.dim(0); ++r) {
      const std::vector<double> sums =
          static_cast<const ReferenceMatrix&>(weight).Multiply(in.Row<float>(r));
      float* row = out.Row<float>(r);
      for (const double sum : sums) write(*row++, sum);
    }
  }
};

}  // namespace

ReferenceBackend::ReferenceBackend()
    : dense_(std::make_unique<ReferenceDenseOps>()),
      attention_(CreateReferenceAttentionOps()),
      sampling_(CreateReferenceSamplingOps()) {}

ReferenceBackend::~ReferenceBackend() = default;

absl::StatusOr<std::unique_ptr<Arena>> ReferenceBackend::Allocate(std::string name, int64_t bytes) {
  return cpu::HostArena::Create(std::move(name), bytes);
}

absl::StatusOr<std::unique_ptr<Stream>> ReferenceBackend::CreateStream(
    const StreamOptions& options) {
  if (options.threads < 1) {
    return absl::InvalidArgumentError(absl::StrCat("threads is ", options.threads));
  }
  return std::make_unique<ReferenceStream>();
}

absl::StatusOr<std::unique_ptr<PreparedMatrix>> ReferenceBackend::PrepareMatrix(
    const MatrixSource& source) {
  if (absl::Status s = cpu::CheckMatrixSource(source); !s.ok()) return s;
  std::vector<ReferenceMatrix::Part> parts;
  for (const WeightView& view : source.parts) {
    const bool int8 = source.activation == Activation::kI8 && IsBlockQuantised(view.format);
    parts.push_back({.weights = Widen(view), .int8 = int8, .group = GroupSize(view.format)});
  }
  return std::make_unique<ReferenceMatrix>(std::move(parts), source.bias);
}

absl::StatusOr<std::unique_ptr<PreparedTable>> ReferenceBackend::PrepareTable(
    const WeightView& view) {
  if (view.rows <= 0 || view.cols <= 0 || view.cols % BlockSize(view.format) != 0) {
    return absl::InvalidArgumentError(
        absl::StrCat("embedding table of ", view.rows, " x ", view.cols));
  }
  return std::make_unique<ReferenceTable>(Widen(view));
}

int64_t ReferenceBackend::PreparedBytes(const MatrixSource& source) const {
  int64_t values = 0;
  for (const WeightView& view : source.parts) values += view.rows * view.cols;
  return values * static_cast<int64_t>(sizeof(double));
}

int64_t ReferenceBackend::PreparedTableBytes(const WeightView& view) const {
  return view.rows * view.cols * static_cast<int64_t>(sizeof(double));
}

}  // namespace shoal::kernels::reference
