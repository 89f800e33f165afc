// SPDX-License-Identifier: Apache-2.0
#include "kernels/cpu/matmul/prepared_matrix.h"

#include <cmath>
#include <cstring>

#include "absl/status/status.h"
#include "absl/strings/str_cat.h"
#include "kernels/cpu/matmul/block_group.h"
#include "kernels/cpu/matmul/layout.h"

namespace shoal::kernels::cpu {
namespace {

int64_t TileCount(int64_t outputs) { return (outputs + kTile - 1) / kTile; }

// `format` as StoredFormat gives it.
int64_t TileBytes(WeightFormat format, int64_t cols) {
  return cols / StepColumns(format) * TileStepBytes(format);
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

// The functions below put one step of output `lane` into a tile; false: not finite.

template <bool (*kIsFinite)(const uint8_t*), int kBytes>
bool PackElement(const uint8_t* source, int64_t lane, uint8_t* step) {
  std::memcpy(step + kBytes * lane, source, kBytes);
  return kIsFinite(source);
}

// The integers of a group of a format whose upper bits lie apart.
void PackFiveOrSix(WeightFormat format, const BlockGroup& group, int64_t lane, uint8_t* out) {
  const int64_t columns = StepColumns(format);
  uint8_t* upper = out + UpperBitsOffset(format);
  for (int64_t k = 0; k < columns; ++k) {
    const int64_t quad = k / 4;
    const int64_t half = columns / 8;  // quads j and j + half share packed bytes
    const int64_t place = 4 * lane + k % 4;
    const int q = group.q[k];
    out[quad % half * 4 * kTile + place] |= static_cast<uint8_t>((q & 15) << (quad < half ? 0 : 4));
    if (format == WeightFormat::kQ6_K) {
      upper[place] |= static_cast<uint8_t>(q >> 4 << (2 * quad));
    } else {
      upper[quad * 8 + place / 8] |= static_cast<uint8_t>(q >> 4 << place % 8);
    }
  }
}

// The integers of the other block formats.
void PackBytesOrNibbles(WeightFormat format, const BlockGroup& group, int64_t lane, uint8_t* out) {
  const bool bytes = format == WeightFormat::kQ8_0;
  for (int64_t quad = 0; quad < (bytes ? 8 : 4); ++quad) {
    uint8_t* place = out + quad * 4 * kTile + 4 * lane;
    for (int64_t i = 0; i < 4; ++i) {
      const uint8_t low = group.q[quad * 4 + i];
      place[i] = bytes ? low : static_cast<uint8_t>(low | group.q[quad * 4 + i + 16] << 4);
    }
  }
}

bool PackGroup(WeightFormat stored, const BlockGroup& group, int64_t lane, uint8_t* out) {
  if (HasUpperBits(stored)) {
    PackFiveOrSix(stored, group, lane, out);
  } else {
    PackBytesOrNibbles(stored, group, lane, out);
  }
  std::memcpy(out + ScaleOffset(stored) + 2 * lane, &group.scale, 2);
  if (HasMinimum(stored)) std::memcpy(out + MinimumOffset(stored) + 2 * lane, &group.minimum, 2);
  return group.finite;
}

// One row of a block format.
bool PackBlocks(const WeightView& view, const uint8_t* source, int64_t lane, uint8_t* tile) {
  const WeightFormat stored = StoredFormat(view.format);
  const int64_t block_bytes = RowBytes(view.format, BlockSize(view.format));
  const int64_t groups = BlockSize(view.format) / GroupSize(view.format);
  bool finite = true;
  for (int64_t k = 0; k < view.cols; k += BlockSize(view.format), source += block_bytes) {
    for (int64_t g = 0; g < groups; ++g, tile += TileStepBytes(stored)) {
      finite &= PackGroup(stored, DecodeGroup(view.format, source, g), lane, tile);
    }
  }
  return finite;
}

template <bool (*kIsFinite)(const uint8_t*), int kBytes>
bool PackElements(const WeightView& view, const uint8_t* source, int64_t lane, uint8_t* tile) {
  bool finite = true;
  for (int64_t k = 0; k < view.cols; ++k, source += kBytes, tile += TileStepBytes(view.format)) {
    finite &= PackElement<kIsFinite, kBytes>(source, lane, tile);
  }
  return finite;
}

using PackRowFn = bool (*)(const WeightView& view, const uint8_t* source, int64_t lane,
                           uint8_t* tile);

PackRowFn RowPacker(WeightFormat format) {
  switch (format) {
    case WeightFormat::kF32:
      return PackElements<IsFiniteF32, 4>;
    case WeightFormat::kF16:
      return PackElements<IsFiniteF16, 2>;
    case WeightFormat::kBF16:
      return PackElements<IsFiniteBf16, 2>;
    default:
      return PackBlocks;
  }
}

// Fills part.weights, which are zero; the row of the first value that is not finite, or -1.
int64_t Pack(const WeightView& view, const PreparedPart& part) {
  const PackRowFn pack = RowPacker(view.format);
  const int64_t row_bytes = RowBytes(view.format, view.cols);
  const auto* source = static_cast<const uint8_t*>(view.data);
  for (int64_t row = 0; row < view.rows; ++row, source += row_bytes) {
    uint8_t* tile = part.weights.data() + row / kTile * part.tile_bytes;
    if (!pack(view, source, row % kTile, tile)) return row;
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
  const int64_t block = BlockSize(view.format);
  if (view.cols % block != 0) {
    return Invalid(source, absl::StrCat(view.cols, " columns are not a multiple of the ",
                                        Name(view.format), " block of ", block));
  }
  const int64_t group = GroupSize(view.format);
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
    part.format = StoredFormat(view.format);
    part.activation = int8 ? Activation::kI8 : Activation::kF32;
    part.first_output = matrix->rows_;
    part.outputs = view.rows;
    part.tiles = TileCount(view.rows);
    part.tile_bytes = TileBytes(part.format, view.cols);
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
    bytes += tiles * TileBytes(StoredFormat(view.format), view.cols);
    if (!source.bias.empty()) bytes += tiles * kTile * static_cast<int64_t>(sizeof(float));
  }
  return bytes;
}

}  // namespace shoal::kernels::cpu
