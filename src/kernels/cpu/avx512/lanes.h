// SPDX-License-Identifier: Apache-2.0
// The vector types of portable/lanes.h as AVX-512 registers. Included only by files built for
// AVX-512.
#pragma once

// GCC 12 calls the deliberately undefined sources inside its own intrinsics uninitialised.
#pragma GCC diagnostic ignored "-Wuninitialized"
#pragma GCC diagnostic ignored "-Wmaybe-uninitialized"

#include <immintrin.h>

#include <cstdint>

namespace shoal::kernels::cpu::avx512 {

// The first n lanes; 0 <= n <= 16.
inline __mmask16 Prefix16(int n) { return static_cast<__mmask16>((1U << n) - 1U); }

struct Lanes16 {
  static constexpr int kBlockRows = 6;
  static constexpr int kBlockVectors = 4;

  __m512 value;

  static Lanes16 Set(float x) { return {_mm512_set1_ps(x)}; }
  static Lanes16 Load(const float* p) { return {_mm512_loadu_ps(p)}; }
  static Lanes16 LoadMasked(const float* p, int n) {
    return {_mm512_maskz_loadu_ps(Prefix16(n), p)};
  }
  static Lanes16 LoadHalf(const uint16_t* p) {
    return {_mm512_cvtph_ps(_mm256_loadu_si256(reinterpret_cast<const __m256i*>(p)))};
  }
  static Lanes16 LoadHalfMasked(const uint16_t* p, int n) {
    return {_mm512_cvtph_ps(_mm256_maskz_loadu_epi16(Prefix16(n), p))};
  }
  static Lanes16 LoadDuplicated(const float* p) {
    const __m512i index = _mm512_setr_epi32(0, 0, 1, 1, 2, 2, 3, 3, 4, 4, 5, 5, 6, 6, 7, 7);
    return {_mm512_permutexvar_ps(index, _mm512_maskz_loadu_ps(0xFF, p))};
  }
  static Lanes16 Alternating() { return {_mm512_setr4_ps(-1, 1, -1, 1)}; }
  void Store(float* p) const { _mm512_storeu_ps(p, value); }
  void StoreMasked(float* p, int n) const { _mm512_mask_storeu_ps(p, Prefix16(n), value); }
  void StoreHalfMasked(uint16_t* p, int n) const {
    const __m512 bounded =
        _mm512_max_ps(_mm512_set1_ps(-65504.0F), _mm512_min_ps(_mm512_set1_ps(65504.0F), value));
    _mm256_mask_storeu_epi16(p, Prefix16(n), _mm512_cvtps_ph(bounded, _MM_FROUND_TO_NEAREST_INT));
  }
};

inline Lanes16 Fma(Lanes16 a, Lanes16 b, Lanes16 c) {
  return {_mm512_fmadd_ps(a.value, b.value, c.value)};
}
inline Lanes16 Add(Lanes16 a, Lanes16 b) { return {_mm512_add_ps(a.value, b.value)}; }
inline Lanes16 Sub(Lanes16 a, Lanes16 b) { return {_mm512_sub_ps(a.value, b.value)}; }
inline Lanes16 Mul(Lanes16 a, Lanes16 b) { return {_mm512_mul_ps(a.value, b.value)}; }
inline Lanes16 Div(Lanes16 a, Lanes16 b) { return {_mm512_div_ps(a.value, b.value)}; }
inline Lanes16 Max(Lanes16 a, Lanes16 b) { return {_mm512_max_ps(a.value, b.value)}; }
inline Lanes16 Min(Lanes16 a, Lanes16 b) { return {_mm512_min_ps(a.value, b.value)}; }
inline Lanes16 Abs(Lanes16 a) { return {_mm512_abs_ps(a.value)}; }
inline Lanes16 WithSign(Lanes16 magnitude, Lanes16 sign) {
  const __m512 bit = _mm512_set1_ps(-0.0F);
  return {_mm512_or_ps(magnitude.value, _mm512_and_ps(bit, sign.value))};
}
inline Lanes16 SelectLess(Lanes16 a, Lanes16 b, Lanes16 x, Lanes16 y) {
  const __mmask16 less = _mm512_cmp_ps_mask(a.value, b.value, _CMP_LT_OQ);
  return {_mm512_mask_blend_ps(less, y.value, x.value)};
}
inline Lanes16 ReplaceNan(Lanes16 a, Lanes16 other) {
  const __mmask16 nan = _mm512_cmp_ps_mask(a.value, a.value, _CMP_UNORD_Q);
  return {_mm512_mask_blend_ps(nan, a.value, other.value)};
}
inline Lanes16 SelectRange(Lanes16 a, int begin, int end, Lanes16 other) {
  const auto keep = static_cast<__mmask16>(Prefix16(end) & ~Prefix16(begin));
  return {_mm512_mask_blend_ps(keep, other.value, a.value)};
}
inline Lanes16 PowerOfTwo(Lanes16 t) {
  const __m512i shifted = _mm512_slli_epi32(_mm512_castps_si512(t.value), 23);
  return {_mm512_castsi512_ps(_mm512_add_epi32(shifted, _mm512_set1_epi32(0x3F800000)))};
}
inline Lanes16 SwapPairs(Lanes16 a) { return {_mm512_permute_ps(a.value, 0xB1)}; }
inline float ReduceAdd(Lanes16 a) {
  const __m256 eight =
      _mm256_add_ps(_mm512_castps512_ps256(a.value), _mm512_extractf32x8_ps(a.value, 1));
  const __m128 four = _mm_add_ps(_mm256_castps256_ps128(eight), _mm256_extractf128_ps(eight, 1));
  const __m128 two = _mm_add_ps(four, _mm_movehl_ps(four, four));
  return _mm_cvtss_f32(_mm_add_ss(two, _mm_shuffle_ps(two, two, 1)));
}
inline float ReduceMax(Lanes16 a) {
  const __m256 eight =
      _mm256_max_ps(_mm512_castps512_ps256(a.value), _mm512_extractf32x8_ps(a.value, 1));
  const __m128 four = _mm_max_ps(_mm256_castps256_ps128(eight), _mm256_extractf128_ps(eight, 1));
  const __m128 two = _mm_max_ps(four, _mm_movehl_ps(four, four));
  return _mm_cvtss_f32(_mm_max_ss(two, _mm_shuffle_ps(two, two, 1)));
}

struct Doubles8 {
  __m512d value;

  static Doubles8 Set(double x) { return {_mm512_set1_pd(x)}; }
  static Doubles8 LoadMasked(const double* p, int n) {
    return {_mm512_maskz_loadu_pd(static_cast<__mmask8>(Prefix16(n)), p)};
  }
  void StoreFloatMasked(float* p, int n) const {
    _mm256_mask_storeu_ps(p, static_cast<__mmask8>(Prefix16(n)), _mm512_cvtpd_ps(value));
  }
};

inline Doubles8 Fma(Doubles8 a, Doubles8 b, Doubles8 c) {
  return {_mm512_fmadd_pd(a.value, b.value, c.value)};
}
inline Doubles8 Sub(Doubles8 a, Doubles8 b) { return {_mm512_sub_pd(a.value, b.value)}; }
inline Doubles8 Mul(Doubles8 a, Doubles8 b) { return {_mm512_mul_pd(a.value, b.value)}; }
inline Doubles8 SelectOdd(Doubles8 t, Doubles8 x, Doubles8 y) {
  const __mmask8 odd = _mm512_test_epi64_mask(_mm512_castpd_si512(t.value), _mm512_set1_epi64(1));
  return {_mm512_mask_blend_pd(odd, y.value, x.value)};
}
inline Doubles8 NegateByBit1(Doubles8 x, Doubles8 t, uint64_t offset) {
  const __m512i sum = _mm512_add_epi64(_mm512_castpd_si512(t.value),
                                       _mm512_set1_epi64(static_cast<int64_t>(offset)));
  const __m512i bit = _mm512_and_si512(sum, _mm512_set1_epi64(2));
  return {_mm512_xor_pd(x.value, _mm512_castsi512_pd(_mm512_slli_epi64(bit, 62)))};
}

}  // namespace shoal::kernels::cpu::avx512
