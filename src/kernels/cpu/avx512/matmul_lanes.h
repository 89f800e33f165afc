// SPDX-License-Identifier: Apache-2.0
// 16 floats in one AVX-512 register. Only for files in avx512/ and amx/.
#pragma once

#include <immintrin.h>

#include <cstdint>

#include "kernels/cpu/matmul/layout.h"

namespace shoal::kernels::cpu::avx512 {

// Four columns of 16 outputs as bytes: dword o holds output o.
using Quad = __m512i;

// Quad `quad` of a group: q8_0 signed, the others unsigned, QuantOffset not subtracted.
template <WeightFormat kFormat>
inline Quad UnpackQuad(const uint8_t* group, int quad) {
  if constexpr (kFormat == WeightFormat::kQ8_0) return _mm512_loadu_si512(group + quad * 64);
  constexpr int kQuads = kFormat == WeightFormat::kQ6_K ? 2 : 4;  // of packed nibbles
  const __m512i packed = _mm512_loadu_si512(group + quad % kQuads * 64);
  const __m512i moved = quad < kQuads ? packed : _mm512_srli_epi16(packed, 4);
  const __m512i nibbles = _mm512_and_si512(moved, _mm512_set1_epi8(15));
  const uint8_t* upper = group + UpperBitsOffset(kFormat);
  if constexpr (kFormat == WeightFormat::kQ5_0 || kFormat == WeightFormat::kQ5_1) {
    const __mmask64 fifth =
        _load_mask64(reinterpret_cast<__mmask64*>(const_cast<uint8_t*>(upper + quad * 8)));
    return _mm512_mask_add_epi8(nibbles, fifth, nibbles, _mm512_set1_epi8(16));
  }
  if constexpr (kFormat == WeightFormat::kQ6_K) {
    const __m512i bits = _mm512_loadu_si512(upper);
    const __m512i placed = quad == 0   ? _mm512_slli_epi16(bits, 4)
                           : quad == 1 ? _mm512_slli_epi16(bits, 2)
                           : quad == 2 ? bits
                                       : _mm512_srli_epi16(bits, 2);
    return _mm512_or_si512(nibbles, _mm512_and_si512(placed, _mm512_set1_epi8(0x30)));
  }
  return nibbles;
}

struct Lanes {
  using Bytes = Quad;
  template <WeightFormat kFormat>
  static Bytes LoadQuad(const uint8_t* group, int quad) {
    return UnpackQuad<kFormat>(group, quad);
  }

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
  // float(byte i of each of 16 dwords - kOffset), the bytes signed or unsigned. A dot product with
  // one 1 picks the byte and adds it to kMagicBits (layout.h).
  template <bool kSigned, int kOffset>
  static Lanes FromByte(Quad bytes, int i) {
    return {_mm512_sub_ps(_mm512_castsi512_ps(AddByte<kSigned, kOffset>(bytes, i)),
                          _mm512_set1_ps(kMagicFloat))};
  }
  // fma(that, scale, +0): the conversion is part of the product, which stays exact but for its one
  // rounding.
  template <bool kSigned, int kOffset>
  static Lanes ScaledByte(Quad bytes, int i, Lanes scale) {
    const __m512 start = _mm512_mul_ps(scale.v, _mm512_set1_ps(-kMagicFloat));
    return {
        _mm512_fmadd_ps(_mm512_castsi512_ps(AddByte<kSigned, kOffset>(bytes, i)), scale.v, start)};
  }
  void Store(float* p) const { _mm512_storeu_ps(p, v); }

  static Lanes Add(Lanes a, Lanes b) { return {_mm512_add_ps(a.v, b.v)}; }
  static Lanes Mul(Lanes a, Lanes b) { return {_mm512_mul_ps(a.v, b.v)}; }
  static Lanes Fma(Lanes a, Lanes b, Lanes c) { return {_mm512_fmadd_ps(a.v, b.v, c.v)}; }

 private:
  template <bool kSigned, int kOffset>
  static __m512i AddByte(Quad bytes, int i) {
    const __m512i start = _mm512_set1_epi32(kMagicBits - kOffset);
    const __m512i pick = _mm512_set1_epi32(1 << 8 * i);
    return kSigned ? _mm512_dpbusd_epi32(start, pick, bytes)
                   : _mm512_dpbusd_epi32(start, bytes, pick);
  }
};

}  // namespace shoal::kernels::cpu::avx512
