// SPDX-License-Identifier: Apache-2.0
// Conversions of 16-bit floats that do not depend on the float mode's treatment of denormals. Not
// for files built for one instruction set.
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

// Float to the nearest half, ties to even; finite and infinite values beyond the range saturate at
// +-65504, NaN stays NaN (quiet, upper payload bits kept).
inline uint16_t FloatToF16Saturating(float value) {
  const uint32_t bits = std::bit_cast<uint32_t>(value);
  const uint32_t sign = (bits >> 16) & 0x8000u;
  uint32_t magnitude = bits & 0x7FFFFFFFu;
  if (magnitude > 0x7F800000u) {
    return static_cast<uint16_t>(sign | 0x7E00u | ((magnitude >> 13) & 0x1FFu));
  }
  if (magnitude > 0x477FE000u) magnitude = 0x477FE000u;
  if (magnitude >= 0x38800000u) {  // a normal half
    magnitude += 0xFFFu + ((magnitude >> 13) & 1u);
    return static_cast<uint16_t>(sign | ((magnitude >> 13) - (112u << 10)));
  }
  // In units of the smallest denormal half, rounded by adding 2^23.
  const float scaled = std::bit_cast<float>(magnitude) * 0x1p24F + 0x1p23F;
  return static_cast<uint16_t>(sign | (std::bit_cast<uint32_t>(scaled) & 0x7FFFFFu));
}

inline float Bf16ToFloat(uint16_t value) { return std::bit_cast<float>(uint32_t{value} << 16); }

}  // namespace shoal::kernels::cpu
