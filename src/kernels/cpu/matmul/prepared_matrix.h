// SPDX-License-Identifier: Apache-2.0
// Weights in the tile order of layout.h.
#pragma once

#include <memory>
#include <vector>

#include "absl/status/statusor.h"
#include "kernels/cpu/aligned_buffer.h"
#include "kernels/cpu/matmul/kernels.h"
#include "kernels/weights.h"

namespace shoal::kernels::cpu {

// The rows of one WeightView of a MatrixSource.
struct PreparedPart {
  WeightFormat format = WeightFormat::kF32;  // a StoredFormat
  Activation activation = Activation::kF32;  // kI8 only with a block format
  int64_t first_output = 0;
  int64_t outputs = 0;
  int64_t tiles = 0;
  int64_t tile_bytes = 0;
  AlignedBuffer weights;  // tiles * tile_bytes
  AlignedBuffer bias;     // tiles * 16 floats, or empty
};

// Immutable after Prepare.
class CpuMatrix final : public PreparedMatrix {
 public:
  // Copies and reorders the weights. InvalidArgument, naming the source, when shapes disagree, when
  // the columns or a leaf border cut a quantisation group, or when a scale, minimum, weight or bias
  // is infinite or NaN; ResourceExhausted when there is no memory.
  static absl::StatusOr<std::unique_ptr<CpuMatrix>> Prepare(const MatrixSource& source);
  // What bytes() of the prepared source is.
  static int64_t PredictBytes(const MatrixSource& source);

  int64_t rows() const override { return rows_; }
  int64_t cols() const override { return cols_; }
  int64_t bytes() const override { return bytes_; }

  const std::vector<PreparedPart>& parts() const { return parts_; }
  const std::vector<LeafStep>& leaves() const { return leaves_; }

 private:
  CpuMatrix() = default;

  int64_t rows_ = 0;
  int64_t cols_ = 0;
  int64_t bytes_ = 0;
  std::vector<PreparedPart> parts_;
  std::vector<LeafStep> leaves_;
};

// The leaves in order, each with the number of tree nodes it completes.
std::vector<LeafStep> MakeLeafSteps(const LeafPlan& plan);

// Checks what every backend asks of a source; see CpuMatrix::Prepare.
absl::Status CheckMatrixSource(const MatrixSource& source);

}  // namespace shoal::kernels::cpu
