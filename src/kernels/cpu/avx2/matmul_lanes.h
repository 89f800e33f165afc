// SPDX-License-Identifier: Apache-2.0
// 16 floats in two AVX registers. Only for files in avx2/.
#pragma once

#include <immintrin.h>

#include <cstdint>

namespace shoal::kernels::cpu::avx2 {

struct Lanes {
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
  // float(byte i of each of 16 dwords, signed) * scale.
  static Lanes ScaledByte(const uint8_t* p, int i, Lanes scale) {
    return Fma({SignedByteHalf(p, i), SignedByteHalf(p + 32, i)}, scale, Zero());
  }
  // float(nibble of byte i of each of 16 dwords - kOffset) * scale.
  template <int kOffset>
  static Lanes ScaledNibble(const uint8_t* p, int i, bool high, Lanes scale) {
    return Fma(NibbleMinus(p, i, high, kOffset), scale, Zero());
  }
  // float(nibble of byte i of each of 16 dwords).
  static Lanes Nibble(const uint8_t* p, int i, bool high) { return NibbleMinus(p, i, high, 0); }
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
  static Lanes NibbleMinus(const uint8_t* p, int i, bool high, int offset) {
    const int shift = 8 * i + (high ? 4 : 0);
    return {NibbleHalf(p, shift, offset), NibbleHalf(p + 32, shift, offset)};
  }
  static __m128i Load128(const uint8_t* p) {
    return _mm_loadu_si128(reinterpret_cast<const __m128i*>(p));
  }
  static __m256i Load256(const uint8_t* p) {
    return _mm256_loadu_si256(reinterpret_cast<const __m256i*>(p));
  }
  static __m256 SignedByteHalf(const uint8_t* p, int i) {
    const __m256i left = _mm256_sll_epi32(Load256(p), _mm_cvtsi32_si128(24 - 8 * i));
    return _mm256_cvtepi32_ps(_mm256_srai_epi32(left, 24));
  }
  static __m256 NibbleHalf(const uint8_t* p, int shift, int offset) {
    const __m256i moved = _mm256_srl_epi32(Load256(p), _mm_cvtsi32_si128(shift));
    const __m256i nibble = _mm256_and_si256(moved, _mm256_set1_epi32(15));
    return _mm256_cvtepi32_ps(_mm256_sub_epi32(nibble, _mm256_set1_epi32(offset)));
  }
};

}  // namespace shoal::kernels::cpu::avx2
