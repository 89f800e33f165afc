// SPDX-License-Identifier: Apache-2.0
// 16 floats in one AVX-512 register. Only for files in avx512/ and amx/.
#pragma once

#include <immintrin.h>

#include <cstdint>

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
  // Byte i of each of 16 dwords as a signed integer.
  static Lanes SignedByte(const uint8_t* p, int i) {
    const __m512i left = _mm512_sll_epi32(_mm512_loadu_si512(p), _mm_cvtsi32_si128(24 - 8 * i));
    return {_mm512_cvtepi32_ps(_mm512_srai_epi32(left, 24))};
  }
  // Bits shift .. shift + 3 of each of 16 dwords, minus offset.
  static Lanes Nibble(const uint8_t* p, int shift, int offset) {
    const __m512i moved = _mm512_srl_epi32(_mm512_loadu_si512(p), _mm_cvtsi32_si128(shift));
    const __m512i nibble = _mm512_and_si512(moved, _mm512_set1_epi32(15));
    return {_mm512_cvtepi32_ps(_mm512_sub_epi32(nibble, _mm512_set1_epi32(offset)))};
  }
  void Store(float* p) const { _mm512_storeu_ps(p, v); }

  static Lanes Add(Lanes a, Lanes b) { return {_mm512_add_ps(a.v, b.v)}; }
  static Lanes Mul(Lanes a, Lanes b) { return {_mm512_mul_ps(a.v, b.v)}; }
  static Lanes Fma(Lanes a, Lanes b, Lanes c) { return {_mm512_fmadd_ps(a.v, b.v, c.v)}; }
};

}  // namespace shoal::kernels::cpu::avx512
