// SPDX-License-Identifier: Apache-2.0
// Matrix products in double. Shares no arithmetic with the cpu kernels.
#include <algorithm>
#include <cmath>
#include <cstring>
#include <map>

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

// The nearest half (ties to even) of a value within half's range.
double RoundToHalf(double value) {
  if (value == 0) return 0;
  const int exponent = std::max(std::ilogb(value), -14);
  return std::ldexp(std::nearbyint(std::ldexp(value, 10 - exponent)), exponent - 10);
}

// Weight k of a block of 256 of q4_k or q5_k.
double FourOrFiveKAt(const uint8_t* block, bool five, int64_t k) {
  const int64_t group = k / 32;
  const uint8_t* packed = block + 4;
  int scale = packed[group % 4];
  int minimum = packed[group % 4 + 4];
  if (group < 4) {
    scale &= 63;
    minimum &= 63;
  } else {
    const int low = packed[group + 4];
    scale = low % 16 + scale / 64 * 16;
    minimum = low / 16 + minimum / 64 * 16;
  }
  const uint8_t byte = block[(five ? 48 : 16) + group / 2 * 32 + k % 32];
  int q = group % 2 == 0 ? byte % 16 : byte / 16;
  if (five && (block[16 + k % 32] >> group) % 2 == 1) q += 16;
  return RoundToHalf(HalfAt(block) * scale) * q - RoundToHalf(HalfAt(block + 2) * minimum);
}

// Weight k of a block of 256 of q6_k.
double SixKAt(const uint8_t* block, int64_t k) {
  const int64_t half = k / 128;
  const int64_t run = k % 128 / 32;
  const int64_t at = k % 32;
  const uint8_t low = block[half * 64 + run % 2 * 32 + at];
  const uint8_t high = block[128 + half * 32 + at];
  const int q = (run < 2 ? low % 16 : low / 16) + (high >> (2 * run)) % 4 * 16 - 32;
  const auto scale = static_cast<int8_t>(block[192 + k / 16]);
  return RoundToHalf(HalfAt(block + 208) * scale) * q;
}

// Value k of a block that starts at `group`.
double ValueAt(WeightFormat format, const uint8_t* group, int64_t k) {
  const auto nibble = [&](const uint8_t* bytes) {
    return k < 16 ? bytes[k] & 15 : bytes[k - 16] >> 4;
  };
  const auto fifth = [&](const uint8_t* bits) { return (bits[k / 8] >> (k % 8)) % 2 * 16; };
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
    case WeightFormat::kQ5_0:
      return HalfAt(group) * (nibble(group + 6) + fifth(group + 2) - 16);
    case WeightFormat::kQ5_1:
      return HalfAt(group) * (nibble(group + 8) + fifth(group + 4)) + HalfAt(group + 2);
    case WeightFormat::kQ4_K:
    case WeightFormat::kQ5_K:
      return FourOrFiveKAt(group, format == WeightFormat::kQ5_K, k);
    case WeightFormat::kQ6_K:
      return SixKAt(group, k);
  }
  return 0;
}

// The int8 form of each `group` inputs, read back.
std::vector<double> Quantised(const float* x, int64_t cols, int64_t group) {
  std::vector<double> values(static_cast<size_t>(cols));
  for (int64_t begin = 0; begin < cols; begin += group) {
    double amax = 0;
    for (int64_t k = begin; k < begin + group; ++k) amax = std::max(amax, std::fabs(double{x[k]}));
    const double scale = amax / 127;
    for (int64_t k = begin; k < begin + group; ++k) {
      values[static_cast<size_t>(k)] = scale == 0 ? 0 : std::nearbyint(x[k] / scale) * scale;
    }
  }
  return values;
}

}  // namespace

Widened Widen(const WeightView& view) {
  Widened widened{.rows = view.rows, .cols = view.cols, .values = {}};
  widened.values.reserve(static_cast<size_t>(view.rows * view.cols));
  const int64_t group = BlockSize(view.format);
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
  std::map<int64_t, std::vector<double>> quantised;  // by the size of its groups
  std::vector<double> sums;
  sums.reserve(static_cast<size_t>(rows_));
  for (const Part& part : parts_) {
    if (part.int8 && !quantised.contains(part.group)) {
      quantised[part.group] = Quantised(x, cols(), part.group);
    }
    const std::vector<double>& inputs = part.int8 ? quantised[part.group] : plain;
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
