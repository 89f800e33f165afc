// SPDX-License-Identifier: Apache-2.0
// 16 floats in one AVX-512 register. Only for files in avx512/ and amx/.
#pragma once

#include <immintrin.h>

#include <cstdint>

#include "kernels/cpu/matmul/layout.h"

namespace shoal::kernels::cpu::avx512 {

struct Lanes {
  static constexpr int kFloat32Height = 8;  // rows of the largest float32 panel

  __m512 v;

  static Lanes Zero() { return {_mm512_setzero_ps()}; }
  static Lanes Broadcast(float x) { return {_mm512_set1_ps(x)}; }
  static Lanes Load(const float* p) { return {_mm512_loadu_ps(p)}; }
  static Lanes LoadF16(const uint8_t* p) {
    return {_mm512_cvtph_ps(_mm256_loadu_si256(reinterpret_cast<const __m256i*>(p)))};
  }
  static Lanes LoadBf16(const uint8_t* p) {
    const __m256i bits = _mm256_loadu_si256(reinterpret_cast<const __m256i*>(p));
    return {_mm512_castsi512_ps(_mm512_slli_epi32(_mm512_cvtepu16_epi32(bits), 16))};
  }
  // float(byte i of each of 16 dwords, signed) * scale. A dot product with one 1 picks the byte and
  // adds it to kMagicBits; the fused product is then exact but for its one rounding (layout.h).
  static Lanes ScaledByte(const uint8_t* p, int i, Lanes scale) {
    const __m512i sum =
        _mm512_dpbusd_epi32(_mm512_set1_epi32(kMagicBits), Pick(i), _mm512_loadu_si512(p));
    return ScaleMagic(sum, scale);
  }
  // float(nibble of byte i of each of 16 dwords - kOffset) * scale.
  template <int kOffset>
  static Lanes ScaledNibble(const uint8_t* p, int i, bool high, Lanes scale) {
    const __m512i sum =
        _mm512_dpbusd_epi32(_mm512_set1_epi32(kMagicBits - kOffset), Nibbles(p, high), Pick(i));
    return ScaleMagic(sum, scale);
  }
  // float(nibble of byte i of each of 16 dwords).
  static Lanes Nibble(const uint8_t* p, int i, bool high) {
    const __m512i sum =
        _mm512_dpbusd_epi32(_mm512_set1_epi32(kMagicBits), Nibbles(p, high), Pick(i));
    return {_mm512_sub_ps(_mm512_castsi512_ps(sum), _mm512_set1_ps(kMagicFloat))};
  }
  void Store(float* p) const { _mm512_storeu_ps(p, v); }

  static Lanes Add(Lanes a, Lanes b) { return {_mm512_add_ps(a.v, b.v)}; }
  static Lanes Mul(Lanes a, Lanes b) { return {_mm512_mul_ps(a.v, b.v)}; }
  static Lanes Fma(Lanes a, Lanes b, Lanes c) { return {_mm512_fmadd_ps(a.v, b.v, c.v)}; }

 private:
  static __m512i Pick(int i) { return _mm512_set1_epi32(1 << 8 * i); }
  static __m512i Nibbles(const uint8_t* p, bool high) {
    const __m512i bytes = _mm512_loadu_si512(p);
    const __m512i moved = high ? _mm512_srli_epi16(bytes, 4) : bytes;
    return _mm512_and_si512(moved, _mm512_set1_epi8(15));
  }
  static Lanes ScaleMagic(__m512i sum, Lanes scale) {
    const __m512 start = _mm512_mul_ps(scale.v, _mm512_set1_ps(-kMagicFloat));
    return {_mm512_fmadd_ps(_mm512_castsi512_ps(sum), scale.v, start)};
  }
};

}  // namespace shoal::kernels::cpu::avx512
