// SPDX-License-Identifier: Apache-2.0
// Matrix products in double. Shares no arithmetic with the cpu kernels.
#include <algorithm>
#include <cmath>
#include <cstring>

#include "kernels/reference/reference_backend.h"

namespace shoal::kernels::reference {
namespace {

double HalfAt(const uint8_t* bytes) {
  uint16_t half;
  std::memcpy(&half, bytes, sizeof(half));
  const int exponent = (half >> 10) & 31;
  const int mantissa = half & 1023;
  const double sign = (half & 0x8000) != 0 ? -1.0 : 1.0;
  if (exponent == 31) return mantissa == 0 ? sign * INFINITY : NAN;
  if (exponent == 0) return sign * std::ldexp(mantissa, -24);
  return sign * std::ldexp(1024 + mantissa, exponent - 25);
}

double FloatAt(const uint8_t* bytes) {
  float value;
  std::memcpy(&value, bytes, sizeof(value));
  return value;
}

double Bf16At(const uint8_t* bytes) {
  const uint8_t wide[4] = {0, 0, bytes[0], bytes[1]};
  return FloatAt(wide);
}

// Value k of a group that starts at `group`.
double ValueAt(WeightFormat format, const uint8_t* group, int64_t k) {
  const auto nibble = [&](const uint8_t* bytes) {
    return k < 16 ? bytes[k] & 15 : bytes[k - 16] >> 4;
  };
  switch (format) {
    case WeightFormat::kF32:
      return FloatAt(group);
    case WeightFormat::kF16:
      return HalfAt(group);
    case WeightFormat::kBF16:
      return Bf16At(group);
    case WeightFormat::kQ8_0:
      return HalfAt(group) * static_cast<int8_t>(group[2 + k]);
    case WeightFormat::kQ4_0:
      return HalfAt(group) * (nibble(group + 2) - 8);
    case WeightFormat::kQ4_1:
      return HalfAt(group) * nibble(group + 4) + HalfAt(group + 2);
  }
  return 0;
}

// The int8 form of each 32 inputs, read back.
std::vector<double> Quantised(const float* x, int64_t cols) {
  std::vector<double> values(static_cast<size_t>(cols));
  for (int64_t begin = 0; begin < cols; begin += 32) {
    double amax = 0;
    for (int64_t k = begin; k < begin + 32; ++k) amax = std::max(amax, std::fabs(double{x[k]}));
    const double scale = amax / 127;
    for (int64_t k = begin; k < begin + 32; ++k) {
      values[static_cast<size_t>(k)] = scale == 0 ? 0 : std::nearbyint(x[k] / scale) * scale;
    }
  }
  return values;
}

}  // namespace

Widened Widen(const WeightView& view) {
  Widened widened{.rows = view.rows, .cols = view.cols, .values = {}};
  widened.values.reserve(static_cast<size_t>(view.rows * view.cols));
  const int64_t group = GroupSize(view.format);
  const uint8_t* bytes = static_cast<const uint8_t*>(view.data);
  for (int64_t i = 0; i < view.rows * view.cols; i += group) {
    for (int64_t k = 0; k < group; ++k) widened.values.push_back(ValueAt(view.format, bytes, k));
    bytes += RowBytes(view.format, group);
  }
  return widened;
}

ReferenceMatrix::ReferenceMatrix(std::vector<Part> parts, std::vector<float> bias)
    : parts_(std::move(parts)), bias_(std::move(bias)) {
  for (const Part& part : parts_) rows_ += part.weights.rows;
}

std::vector<double> ReferenceMatrix::Multiply(const float* x) const {
  std::vector<double> plain(x, x + cols());
  std::vector<double> quantised;
  std::vector<double> sums;
  sums.reserve(static_cast<size_t>(rows_));
  for (const Part& part : parts_) {
    if (part.int8 && quantised.empty()) quantised = Quantised(x, cols());
    const std::vector<double>& inputs = part.int8 ? quantised : plain;
    const double* row = part.weights.values.data();
    for (int64_t n = 0; n < part.weights.rows; ++n, row += cols()) {
      double sum = 0;
      for (size_t k = 0; k < inputs.size(); ++k) sum += inputs[k] * row[k];
      sums.push_back(sum);
    }
  }
  for (size_t n = 0; n < bias_.size(); ++n) sums[n] += bias_[n];
  return sums;
}

}  // namespace shoal::kernels::reference
