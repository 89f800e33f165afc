// SPDX-License-Identifier: Apache-2.0
// Scalar functions with defined bits, built for the baseline instruction set only.
#pragma once

#include <bit>
#include <cstdint>

namespace shoal::kernels::cpu {

// Natural logarithm of a positive normal number, error below 4e-16 relative to max(1, |log x|).
// x = m * 2^e with m in [sqrt(1/2), sqrt(2)); log m = 2 atanh((m - 1) / (m + 1)) as a series.
inline double Log(double x) {
  const uint64_t bits = std::bit_cast<uint64_t>(x);
  int64_t exponent = static_cast<int64_t>(bits >> 52) - 1023;
  double m = std::bit_cast<double>((bits & 0x000FFFFFFFFFFFFF) | 0x3FF0000000000000);
  if (m > 1.4142135623730951) {
    m *= 0.5;
    ++exponent;
  }
  const double s = (m - 1.0) / (m + 1.0);
  const double z = s * s;
  double series = 1.0 / 23.0;
  for (int k = 21; k >= 1; k -= 2) series = series * z + 1.0 / k;
  return static_cast<double>(exponent) * 0.69314718055994530942 + 2.0 * s * series;
}

}  // namespace shoal::kernels::cpu
