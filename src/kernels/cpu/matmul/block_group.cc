// SPDX-License-Identifier: Apache-2.0
#include "kernels/cpu/matmul/block_group.h"

#include <cmath>
#include <cstring>

#include "base/check.h"
#include "kernels/cpu/f16.h"

namespace shoal::kernels::cpu {
namespace {

constexpr float kHalfMax = 65504.0F;

uint16_t Load16(const uint8_t* bytes) {
  uint16_t value;
  std::memcpy(&value, bytes, sizeof(value));
  return value;
}

bool IsFinite(uint16_t half) { return (half & 0x7C00u) != 0x7C00u; }

void DecodeNibbles(const uint8_t* nibbles, BlockGroup& group) {
  for (int k = 0; k < 16; ++k) {
    group.q[k] = nibbles[k] & 15;
    group.q[k + 16] = nibbles[k] >> 4;
  }
}

// Fifth bits: bit k of a little-endian word belongs to weight k.
void AddFifthBits(const uint8_t* bits, BlockGroup& group) {
  for (int k = 0; k < 32; ++k) {
    group.q[k] = static_cast<uint8_t>(group.q[k] | (bits[k / 8] >> (k % 8) & 1) << 4);
  }
}

// q8_0, q4_x and q5_x: the scale, the minimum if there is one, fifth bits, integers.
BlockGroup DecodeSimple(WeightFormat format, const uint8_t* bytes) {
  BlockGroup group;
  group.scale = Load16(bytes);
  bytes += 2;
  if (HasMinimum(format)) {
    group.minimum = Load16(bytes);
    bytes += 2;
  }
  group.finite = IsFinite(group.scale) && IsFinite(group.minimum);
  if (format == WeightFormat::kQ8_0) {
    std::memcpy(group.q, bytes, sizeof(group.q));
    return group;
  }
  const bool fifth = format == WeightFormat::kQ5_0 || format == WeightFormat::kQ5_1;
  DecodeNibbles(bytes + (fifth ? 4 : 0), group);
  if (fifth) AddFifthBits(bytes, group);
  return group;
}

// factor * whole rounded to half.
uint16_t RoundProduct(float factor, int whole, bool& finite) {
  const float product = factor * static_cast<float>(whole);
  finite &= std::fabs(product) <= kHalfMax;
  return FloatToF16Saturating(product);
}

struct SixBits {
  int scale;
  int minimum;
};

// The 6-bit scale and minimum of group `index` of 8, packed in 12 bytes: the first four groups have
// a byte each; their upper two bits complete the nibbles of the last four.
SixBits UnpackSixBits(const uint8_t* packed, int64_t index) {
  if (index < 4) return {packed[index] & 63, packed[index + 4] & 63};
  return {(packed[index + 4] & 15) | packed[index - 4] >> 6 << 4,
          packed[index + 4] >> 4 | packed[index] >> 6 << 4};
}

// q4_k and q5_k: f16 scale, f16 minimum, packed factors, [q5_k: 32 bytes of fifth bits,] nibbles.
BlockGroup DecodeFourOrFiveK(WeightFormat format, const uint8_t* block, int64_t index) {
  const uint16_t scale = Load16(block);
  const uint16_t minimum = Load16(block + 2);
  const SixBits factors = UnpackSixBits(block + 4, index);
  const bool five = format == WeightFormat::kQ5_K;
  const uint8_t* fifth = block + 16;
  const uint8_t* nibbles = block + (five ? 48 : 16) + index / 2 * 32;
  BlockGroup group;
  group.finite = IsFinite(scale) && IsFinite(minimum);
  group.scale = RoundProduct(F16ToFloat(scale), factors.scale, group.finite);
  group.minimum = RoundProduct(-F16ToFloat(minimum), factors.minimum, group.finite);
  for (int k = 0; k < 32; ++k) {
    const int low = index % 2 == 0 ? nibbles[k] & 15 : nibbles[k] >> 4;
    const int high = five ? (fifth[k] >> index & 1) << 4 : 0;
    group.q[k] = static_cast<uint8_t>(low | high);
  }
  return group;
}

// q6_k: 128 bytes of nibbles, 64 bytes of upper bits, 16 int8 scales, f16 scale. Each half of 128
// weights has four runs of 32: nibbles of bytes 0-31 and 32-63 (low, then high), upper bits at
// shifts 0, 2, 4, 6.
BlockGroup DecodeSixK(const uint8_t* block, int64_t index) {
  const int64_t half = index / 8;
  const int64_t run = index % 8 / 2;
  const int64_t first = index % 2 * 16;
  const uint8_t* nibbles = block + half * 64 + run % 2 * 32 + first;
  const uint8_t* upper = block + 128 + half * 32 + first;
  const auto factor = static_cast<int8_t>(block[192 + index]);
  const uint16_t scale = Load16(block + 208);
  BlockGroup group;
  group.finite = IsFinite(scale);
  group.scale = RoundProduct(F16ToFloat(scale), factor, group.finite);
  for (int k = 0; k < 16; ++k) {
    const int low = run < 2 ? nibbles[k] & 15 : nibbles[k] >> 4;
    group.q[k] = static_cast<uint8_t>(low | (upper[k] >> (2 * run) & 3) << 4);
  }
  return group;
}

}  // namespace

BlockGroup DecodeGroup(WeightFormat format, const uint8_t* block, int64_t index) {
  SHOAL_CHECK(index >= 0 && index < BlockSize(format) / GroupSize(format));
  switch (format) {
    case WeightFormat::kQ4_K:
    case WeightFormat::kQ5_K:
      return DecodeFourOrFiveK(format, block, index);
    case WeightFormat::kQ6_K:
      return DecodeSixK(block, index);
    default:
      SHOAL_CHECK(IsBlockQuantised(format));
      return DecodeSimple(format, block);
  }
}

}  // namespace shoal::kernels::cpu
