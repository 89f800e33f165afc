// SPDX-License-Identifier: Apache-2.0
#include "kernels/cpu/matmul/prepared_matrix.h"

#include <cmath>
#include <cstring>

#include "absl/status/status.h"
#include "absl/strings/str_cat.h"
#include "kernels/cpu/matmul/layout.h"

namespace shoal::kernels::cpu {
namespace {

int64_t TileCount(int64_t outputs) { return (outputs + kTile - 1) / kTile; }

int64_t TileBytes(WeightFormat format, int64_t cols) {
  return cols / GroupSize(format) * TileStepBytes(format);
}

template <typename T>
T LoadAs(const uint8_t* bytes) {
  T value;
  std::memcpy(&value, bytes, sizeof(T));
  return value;
}

bool IsFiniteF32(const uint8_t* p) { return (LoadAs<uint32_t>(p) & 0x7F800000u) != 0x7F800000u; }
bool IsFiniteF16(const uint8_t* p) { return (LoadAs<uint16_t>(p) & 0x7C00u) != 0x7C00u; }
bool IsFiniteBf16(const uint8_t* p) { return (LoadAs<uint16_t>(p) & 0x7F80u) != 0x7F80u; }

// The functions below put one group (or element) of output `lane` into a tile; false: not finite.

template <bool (*kIsFinite)(const uint8_t*), int kBytes>
bool PackElement(const uint8_t* source, int64_t lane, uint8_t* step) {
  std::memcpy(step + kBytes * lane, source, kBytes);
  return kIsFinite(source);
}

bool PackQ8(const uint8_t* source, int64_t lane, uint8_t* group) {
  for (int64_t quad = 0; quad < 8; ++quad) {
    std::memcpy(group + quad * 4 * kTile + 4 * lane, source + 2 + 4 * quad, 4);
  }
  std::memcpy(group + ScaleOffset(WeightFormat::kQ8_0) + 2 * lane, source, 2);
  return IsFiniteF16(source);
}

template <WeightFormat kFormat>
bool PackQ4(const uint8_t* source, int64_t lane, uint8_t* group) {
  constexpr bool kHasMinimum = kFormat == WeightFormat::kQ4_1;
  const uint8_t* nibbles = source + (kHasMinimum ? 4 : 2);
  for (int64_t quad = 0; quad < 4; ++quad) {
    std::memcpy(group + quad * 4 * kTile + 4 * lane, nibbles + 4 * quad, 4);
  }
  std::memcpy(group + ScaleOffset(kFormat) + 2 * lane, source, 2);
  if constexpr (!kHasMinimum) return IsFiniteF16(source);
  std::memcpy(group + MinimumOffset(kFormat) + 2 * lane, source + 2, 2);
  return IsFiniteF16(source) && IsFiniteF16(source + 2);
}

using PackFn = bool (*)(const uint8_t* source, int64_t lane, uint8_t* step);

PackFn Packer(WeightFormat format) {
  switch (format) {
    case WeightFormat::kF32:
      return PackElement<IsFiniteF32, 4>;
    case WeightFormat::kF16:
      return PackElement<IsFiniteF16, 2>;
    case WeightFormat::kBF16:
      return PackElement<IsFiniteBf16, 2>;
    case WeightFormat::kQ8_0:
      return PackQ8;
    case WeightFormat::kQ4_0:
      return PackQ4<WeightFormat::kQ4_0>;
    case WeightFormat::kQ4_1:
      return PackQ4<WeightFormat::kQ4_1>;
  }
  return nullptr;
}

// Fills part.weights; the row of the first value that is not finite, or -1.
int64_t Pack(const WeightView& view, const PreparedPart& part) {
  const PackFn pack = Packer(view.format);
  const int64_t steps = view.cols / GroupSize(view.format);
  const int64_t source_step = RowBytes(view.format, GroupSize(view.format));
  const int64_t tile_step = TileStepBytes(view.format);
  const uint8_t* source = static_cast<const uint8_t*>(view.data);
  for (int64_t row = 0; row < view.rows; ++row) {
    uint8_t* tile = part.weights.data() + row / kTile * part.tile_bytes;
    bool finite = true;
    for (int64_t s = 0; s < steps; ++s, source += source_step, tile += tile_step) {
      finite &= pack(source, row % kTile, tile);
    }
    if (!finite) return row;
  }
  return -1;
}

absl::Status Invalid(const MatrixSource& source, const std::string& what) {
  return absl::InvalidArgumentError(absl::StrCat("matrix '", source.name, "': ", what));
}

absl::Status CheckLeaves(const MatrixSource& source, int64_t cols) {
  const std::vector<int64_t>& borders = source.leaves.borders;
  if (borders.size() < 2 || borders.front() != 0 || borders.back() != cols) {
    return Invalid(source, absl::StrCat("its leaves do not cover its ", cols, " columns"));
  }
  if (source.leaves.leaves() > kMaxLeaves) {
    return Invalid(source, absl::StrCat("has ", source.leaves.leaves(), " leaves; at most ",
                                        kMaxLeaves, " are possible"));
  }
  for (size_t i = 1; i < borders.size(); ++i) {
    if (borders[i] <= borders[i - 1]) {
      return Invalid(source, absl::StrCat("leaf ", i - 1, " is empty or runs backwards"));
    }
  }
  return absl::OkStatus();
}

absl::Status CheckPart(const MatrixSource& source, const WeightView& view) {
  if (view.rows <= 0 || view.cols <= 0) {
    return Invalid(source, absl::StrCat("has a part of ", view.rows, " x ", view.cols));
  }
  if (view.cols != source.parts.front().cols) {
    return Invalid(source, absl::StrCat("its parts have ", source.parts.front().cols, " and ",
                                        view.cols, " columns"));
  }
  if (view.data == nullptr) return Invalid(source, "has a part without data");
  const int64_t group = GroupSize(view.format);
  if (view.cols % group != 0) {
    return Invalid(source, absl::StrCat(view.cols, " columns are not a multiple of the ",
                                        Name(view.format), " group of ", group));
  }
  for (const int64_t border : source.leaves.borders) {
    if (border % group != 0) {
      return Invalid(source, absl::StrCat("a leaf border at column ", border, " cuts a ",
                                          Name(view.format), " group of ", group));
    }
  }
  return absl::OkStatus();
}

void AddLeafSteps(const std::vector<int64_t>& borders, int64_t first, int64_t count,
                  std::vector<LeafStep>& steps) {
  if (count == 1) {
    const auto i = static_cast<size_t>(first);
    steps.push_back({.begin = borders[i], .end = borders[i + 1]});
    return;
  }
  const int64_t left = (count + 1) / 2;
  AddLeafSteps(borders, first, left, steps);
  AddLeafSteps(borders, first + left, count - left, steps);
  ++steps.back().merges;
}

absl::Status FillPart(const MatrixSource& source, const WeightView& view, PreparedPart& part) {
  part.weights = AlignedBuffer(part.tiles * part.tile_bytes);
  if (part.weights.data() == nullptr) {
    return absl::ResourceExhaustedError(absl::StrCat("matrix '", source.name, "': no memory for ",
                                                     part.tiles * part.tile_bytes, " bytes"));
  }
  const int64_t bad_row = Pack(view, part);
  if (bad_row >= 0) {
    return Invalid(source, absl::StrCat("row ", part.first_output + bad_row,
                                        " has an infinite or NaN scale or weight"));
  }
  if (source.bias.empty()) return absl::OkStatus();
  const int64_t bias_bytes = part.tiles * kTile * static_cast<int64_t>(sizeof(float));
  part.bias = AlignedBuffer(bias_bytes);
  if (part.bias.data() == nullptr) {
    return absl::ResourceExhaustedError(
        absl::StrCat("matrix '", source.name, "': no memory for ", bias_bytes, " bytes of bias"));
  }
  std::memcpy(part.bias.data(), source.bias.data() + part.first_output,
              static_cast<size_t>(part.outputs) * sizeof(float));
  return absl::OkStatus();
}

}  // namespace

std::vector<LeafStep> MakeLeafSteps(const LeafPlan& plan) {
  std::vector<LeafStep> steps;
  steps.reserve(static_cast<size_t>(plan.leaves()));
  AddLeafSteps(plan.borders, 0, plan.leaves(), steps);
  return steps;
}

absl::Status CheckMatrixSource(const MatrixSource& source) {
  if (source.parts.empty()) return Invalid(source, "has no parts");
  if (absl::Status s = CheckLeaves(source, source.parts.front().cols); !s.ok()) return s;
  int64_t rows = 0;
  for (const WeightView& view : source.parts) {
    if (absl::Status s = CheckPart(source, view); !s.ok()) return s;
    rows += view.rows;
  }
  if (!source.bias.empty() && static_cast<int64_t>(source.bias.size()) != rows) {
    return Invalid(source,
                   absl::StrCat("has ", rows, " rows but ", source.bias.size(), " bias values"));
  }
  for (const float bias : source.bias) {
    if (!std::isfinite(bias)) return Invalid(source, "has an infinite or NaN bias");
  }
  return absl::OkStatus();
}

absl::StatusOr<std::unique_ptr<CpuMatrix>> CpuMatrix::Prepare(const MatrixSource& source) {
  if (absl::Status s = CheckMatrixSource(source); !s.ok()) return s;
  std::unique_ptr<CpuMatrix> matrix(new CpuMatrix);
  matrix->cols_ = source.parts.front().cols;
  matrix->leaves_ = MakeLeafSteps(source.leaves);
  matrix->bytes_ = PredictBytes(source);
  for (const WeightView& view : source.parts) {
    const bool int8 = source.activation == Activation::kI8 && IsBlockQuantised(view.format);
    PreparedPart part;
    part.format = view.format;
    part.activation = int8 ? Activation::kI8 : Activation::kF32;
    part.first_output = matrix->rows_;
    part.outputs = view.rows;
    part.tiles = TileCount(view.rows);
    part.tile_bytes = TileBytes(view.format, view.cols);
    if (absl::Status s = FillPart(source, view, part); !s.ok()) return s;
    matrix->rows_ += view.rows;
    matrix->parts_.push_back(std::move(part));
  }
  return matrix;
}

int64_t CpuMatrix::PredictBytes(const MatrixSource& source) {
  int64_t bytes = 0;
  for (const WeightView& view : source.parts) {
    const int64_t tiles = TileCount(view.rows);
    bytes += tiles * TileBytes(view.format, view.cols);
    if (!source.bias.empty()) bytes += tiles * kTile * static_cast<int64_t>(sizeof(float));
  }
  return bytes;
}

}  // namespace shoal::kernels::cpu
