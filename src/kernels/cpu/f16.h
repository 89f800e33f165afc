// SPDX-License-Identifier: Apache-2.0
// Exact widening of 16-bit floats with integer operations only, so that it does not depend on the
// float mode. Not for files built for one instruction set.
#pragma once

#include <bit>
#include <cstdint>

namespace shoal::kernels::cpu {

// IEEE half to float; every half, denormal, infinity and NaN included, has one exact image.
inline float F16ToFloat(uint16_t half) {
  const uint32_t sign = uint32_t{half & 0x8000u} << 16;
  const uint32_t exponent = (half >> 10) & 0x1F;
  uint32_t mantissa = half & 0x3FFu;
  if (exponent == 31) return std::bit_cast<float>(sign | 0x7F800000u | mantissa << 13);
  if (exponent != 0) return std::bit_cast<float>(sign | (exponent + 112) << 23 | mantissa << 13);
  if (mantissa == 0) return std::bit_cast<float>(sign);
  uint32_t shifted_exponent = 113;
  while ((mantissa & 0x400u) == 0) {
    mantissa <<= 1;
    --shifted_exponent;
  }
  return std::bit_cast<float>(sign | shifted_exponent << 23 | (mantissa & 0x3FFu) << 13);
}

inline float Bf16ToFloat(uint16_t value) { return std::bit_cast<float>(uint32_t{value} << 16); }

}  // namespace shoal::kernels::cpu
