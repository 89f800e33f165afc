// SPDX-License-Identifier: Apache-2.0
// 16 floats in two AVX registers. Only for files in avx2/.
#pragma once

#include <immintrin.h>

#include <cstdint>

#include "kernels/cpu/matmul/layout.h"

namespace shoal::kernels::cpu::avx2 {

// Four columns of 16 outputs as bytes: dword o holds output o; outputs 0-7 and 8-15.
struct Quad {
  __m256i low, high;
};

inline __m256i Load256(const uint8_t* p) {
  return _mm256_loadu_si256(reinterpret_cast<const __m256i*>(p));
}

// 16 in each byte whose bit is set.
inline __m256i SpreadBits(const uint8_t* bits) {
  const __m256i words = _mm256_set1_epi32(*reinterpret_cast<const int32_t*>(bits));
  const __m256i byte_of =
      _mm256_setr_epi64x(0, 0x0101010101010101, 0x0202020202020202, 0x0303030303030303);
  const __m256i bit_of = _mm256_set1_epi64x(static_cast<int64_t>(0x8040201008040201));
  const __m256i bytes = _mm256_and_si256(_mm256_shuffle_epi8(words, byte_of), bit_of);
  return _mm256_and_si256(_mm256_cmpeq_epi8(bytes, bit_of), _mm256_set1_epi8(16));
}

// Half of UnpackQuad: 32 bytes from `offset` of the quad on.
template <WeightFormat kFormat>
inline __m256i UnpackHalf(const uint8_t* group, int quad, int offset) {
  if constexpr (kFormat == WeightFormat::kQ8_0) return Load256(group + quad * 64 + offset);
  constexpr int kQuads = kFormat == WeightFormat::kQ6_K ? 2 : 4;  // of packed nibbles
  const __m256i packed = Load256(group + quad % kQuads * 64 + offset);
  const __m256i moved = quad < kQuads ? packed : _mm256_srli_epi16(packed, 4);
  const __m256i nibbles = _mm256_and_si256(moved, _mm256_set1_epi8(15));
  const uint8_t* upper = group + UpperBitsOffset(kFormat);
  if constexpr (kFormat == WeightFormat::kQ5_0 || kFormat == WeightFormat::kQ5_1) {
    return _mm256_or_si256(nibbles, SpreadBits(upper + quad * 8 + offset / 8));
  }
  if constexpr (kFormat == WeightFormat::kQ6_K) {
    const __m256i bits = Load256(upper + offset);
    const __m256i placed = quad == 0   ? _mm256_slli_epi16(bits, 4)
                           : quad == 1 ? _mm256_slli_epi16(bits, 2)
                           : quad == 2 ? bits
                                       : _mm256_srli_epi16(bits, 2);
    return _mm256_or_si256(nibbles, _mm256_and_si256(placed, _mm256_set1_epi8(0x30)));
  }
  return nibbles;
}

// Quad `quad` of a group: q8_0 signed, the others unsigned, QuantOffset not subtracted.
template <WeightFormat kFormat>
inline Quad UnpackQuad(const uint8_t* group, int quad) {
  return {UnpackHalf<kFormat>(group, quad, 0), UnpackHalf<kFormat>(group, quad, 32)};
}

struct Lanes {
  using Bytes = Quad;
  template <WeightFormat kFormat>
  static Bytes LoadQuad(const uint8_t* group, int quad) {
    return UnpackQuad<kFormat>(group, quad);
  }

  static constexpr int kFloat32Height = 4;  // rows of the largest float32 panel

  __m256 low, high;

  static Lanes Zero() { return {_mm256_setzero_ps(), _mm256_setzero_ps()}; }
  static Lanes Broadcast(float x) { return {_mm256_set1_ps(x), _mm256_set1_ps(x)}; }
  static Lanes Load(const float* p) { return {_mm256_loadu_ps(p), _mm256_loadu_ps(p + 8)}; }
  static Lanes LoadF16(const uint8_t* p) {
    return {_mm256_cvtph_ps(Load128(p)), _mm256_cvtph_ps(Load128(p + 16))};
  }
  static Lanes LoadBf16(const uint8_t* p) {
    return {_mm256_castsi256_ps(_mm256_slli_epi32(_mm256_cvtepu16_epi32(Load128(p)), 16)),
            _mm256_castsi256_ps(_mm256_slli_epi32(_mm256_cvtepu16_epi32(Load128(p + 16)), 16))};
  }
  // float(byte i of each of 16 dwords - kOffset), the bytes signed or unsigned.
  template <bool kSigned, int kOffset>
  static Lanes FromByte(const Quad& bytes, int i) {
    return {ByteHalf<kSigned, kOffset>(bytes.low, i), ByteHalf<kSigned, kOffset>(bytes.high, i)};
  }
  // fma(that, scale, +0).
  template <bool kSigned, int kOffset>
  static Lanes ScaledByte(const Quad& bytes, int i, Lanes scale) {
    return Fma(FromByte<kSigned, kOffset>(bytes, i), scale, Zero());
  }
  void Store(float* p) const {
    _mm256_storeu_ps(p, low);
    _mm256_storeu_ps(p + 8, high);
  }

  static Lanes Add(Lanes a, Lanes b) {
    return {_mm256_add_ps(a.low, b.low), _mm256_add_ps(a.high, b.high)};
  }
  static Lanes Mul(Lanes a, Lanes b) {
    return {_mm256_mul_ps(a.low, b.low), _mm256_mul_ps(a.high, b.high)};
  }
  static Lanes Fma(Lanes a, Lanes b, Lanes c) {
    return {_mm256_fmadd_ps(a.low, b.low, c.low), _mm256_fmadd_ps(a.high, b.high, c.high)};
  }

 private:
  static __m128i Load128(const uint8_t* p) {
    return _mm_loadu_si128(reinterpret_cast<const __m128i*>(p));
  }
  template <bool kSigned, int kOffset>
  static __m256 ByteHalf(__m256i bytes, int i) {
    const __m256i left = _mm256_sll_epi32(bytes, _mm_cvtsi32_si128(24 - 8 * i));
    const __m256i value = kSigned ? _mm256_srai_epi32(left, 24) : _mm256_srli_epi32(left, 24);
    return _mm256_cvtepi32_ps(_mm256_sub_epi32(value, _mm256_set1_epi32(kOffset)));
  }
};

}  // namespace shoal::kernels::cpu::avx2
