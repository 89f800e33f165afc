// SPDX-License-Identifier: Apache-2.0
// The backend that judges the others by tolerance: plain loops in double on the calling thread,
// weights widened to double, no leaves.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "kernels/backend.h"

namespace shoal::kernels::reference {

// A matrix or table as doubles, row-major.
struct Widened {
  int64_t rows = 0;
  int64_t cols = 0;
  std::vector<double> values;
};
// Widens every value of a view.
Widened Widen(const WeightView& view);

class ReferenceMatrix final : public PreparedMatrix {
 public:
  // The rows of one part. `int8`: its inputs are quantised as kernels::Activation::kI8 says, in
  // groups of `group`.
  struct Part {
    Widened weights;
    bool int8 = false;
    int64_t group = 1;
  };

  ReferenceMatrix(std::vector<Part> parts, std::vector<float> bias);
  int64_t rows() const override { return rows_; }
  int64_t cols() const override { return parts_.front().weights.cols; }
  int64_t bytes() const override { return rows() * cols() * static_cast<int64_t>(sizeof(double)); }

  // sums[n] = x * row n, plus bias; x has cols() values.
  std::vector<double> Multiply(const float* x) const;

 private:
  std::vector<Part> parts_;
  std::vector<float> bias_;
  int64_t rows_ = 0;
};

class ReferenceTable final : public PreparedTable {
 public:
  explicit ReferenceTable(Widened table) : table_(std::move(table)) {}
  int64_t rows() const override { return table_.rows; }
  int64_t cols() const override { return table_.cols; }
  int64_t bytes() const override { return rows() * cols() * static_cast<int64_t>(sizeof(double)); }
  const double* Row(int64_t row) const { return table_.values.data() + row * table_.cols; }

 private:
  Widened table_;
};

class ReferenceBackend final : public Backend {
 public:
  ReferenceBackend();
  ~ReferenceBackend() override;

  std::string Describe() const override { return "reference"; }
  absl::StatusOr<std::unique_ptr<Arena>> Allocate(std::string name, int64_t bytes) override;
  absl::StatusOr<std::unique_ptr<Stream>> CreateStream(const StreamOptions& options) override;
  absl::StatusOr<std::unique_ptr<PreparedMatrix>> PrepareMatrix(
      const MatrixSource& source) override;
  absl::StatusOr<std::unique_ptr<PreparedTable>> PrepareTable(const WeightView& view) override;
  int64_t PreparedBytes(const MatrixSource& source) const override;
  int64_t PreparedTableBytes(const WeightView& view) const override;

  DenseOps& dense() override { return *dense_; }
  AttentionOps& attention() override { return *attention_; }
  SamplingOps& sampling() override { return *sampling_; }

 private:
  const std::unique_ptr<DenseOps> dense_;
  const std::unique_ptr<AttentionOps> attention_;
  const std::unique_ptr<SamplingOps> sampling_;
};

}  // namespace shoal::kernels::reference
