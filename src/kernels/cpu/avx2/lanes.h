// SPDX-License-Identifier: Apache-2.0
// The vector types of portable/lanes.h as two AVX2 registers each. Included only by files built for
// AVX2.
#pragma once

#include <immintrin.h>

#include <cstdint>

namespace shoal::kernels::cpu::avx2 {

inline constexpr int32_t kPrefixMask[16] = {-1, -1, -1, -1, -1, -1, -1, -1};

// The first n of 8 lanes; n is clamped to [0, 8].
inline __m256i PrefixMask(int n) {
  const int clamped = n < 0 ? 0 : (n > 8 ? 8 : n);
  return _mm256_loadu_si256(reinterpret_cast<const __m256i*>(kPrefixMask + 8 - clamped));
}

struct Lanes16 {
  static constexpr int kBlockRows = 6;
  static constexpr int kBlockVectors = 1;

  __m256 low;
  __m256 high;

  static Lanes16 Set(float x) { return {_mm256_set1_ps(x), _mm256_set1_ps(x)}; }
  static Lanes16 Load(const float* p) { return {_mm256_loadu_ps(p), _mm256_loadu_ps(p + 8)}; }
  static Lanes16 LoadMasked(const float* p, int n) {
    return {_mm256_maskload_ps(p, PrefixMask(n)), _mm256_maskload_ps(p + 8, PrefixMask(n - 8))};
  }
  static Lanes16 LoadHalf(const uint16_t* p) {
    const auto* q = reinterpret_cast<const __m128i*>(p);
    return {_mm256_cvtph_ps(_mm_loadu_si128(q)), _mm256_cvtph_ps(_mm_loadu_si128(q + 1))};
  }
  static Lanes16 LoadHalfMasked(const uint16_t* p, int n) {
    uint16_t padded[16] = {};
    for (int i = 0; i < n; ++i) padded[i] = p[i];
    return LoadHalf(padded);
  }
  static Lanes16 LoadDuplicated(const float* p) {
    const __m256 x = _mm256_loadu_ps(p);
    return {_mm256_permutevar8x32_ps(x, _mm256_setr_epi32(0, 0, 1, 1, 2, 2, 3, 3)),
            _mm256_permutevar8x32_ps(x, _mm256_setr_epi32(4, 4, 5, 5, 6, 6, 7, 7))};
  }
  static Lanes16 Alternating() {
    const __m256 x = _mm256_setr_ps(-1, 1, -1, 1, -1, 1, -1, 1);
    return {x, x};
  }
  void Store(float* p) const {
    _mm256_storeu_ps(p, low);
    _mm256_storeu_ps(p + 8, high);
  }
  void StoreMasked(float* p, int n) const {
    _mm256_maskstore_ps(p, PrefixMask(n), low);
    _mm256_maskstore_ps(p + 8, PrefixMask(n - 8), high);
  }
  void StoreHalfMasked(uint16_t* p, int n) const;
};

inline Lanes16 Add(Lanes16 a, Lanes16 b) {
  return {_mm256_add_ps(a.low, b.low), _mm256_add_ps(a.high, b.high)};
}
inline Lanes16 Sub(Lanes16 a, Lanes16 b) {
  return {_mm256_sub_ps(a.low, b.low), _mm256_sub_ps(a.high, b.high)};
}
inline Lanes16 Mul(Lanes16 a, Lanes16 b) {
  return {_mm256_mul_ps(a.low, b.low), _mm256_mul_ps(a.high, b.high)};
}
inline Lanes16 Div(Lanes16 a, Lanes16 b) {
  return {_mm256_div_ps(a.low, b.low), _mm256_div_ps(a.high, b.high)};
}
inline Lanes16 Max(Lanes16 a, Lanes16 b) {
  return {_mm256_max_ps(a.low, b.low), _mm256_max_ps(a.high, b.high)};
}
inline Lanes16 Min(Lanes16 a, Lanes16 b) {
  return {_mm256_min_ps(a.low, b.low), _mm256_min_ps(a.high, b.high)};
}
inline Lanes16 Fma(Lanes16 a, Lanes16 b, Lanes16 c) {
  return {_mm256_fmadd_ps(a.low, b.low, c.low), _mm256_fmadd_ps(a.high, b.high, c.high)};
}
inline Lanes16 Abs(Lanes16 a) {
  const __m256 sign = _mm256_set1_ps(-0.0F);
  return {_mm256_andnot_ps(sign, a.low), _mm256_andnot_ps(sign, a.high)};
}
inline Lanes16 WithSign(Lanes16 magnitude, Lanes16 sign) {
  const __m256 bit = _mm256_set1_ps(-0.0F);
  return {_mm256_or_ps(magnitude.low, _mm256_and_ps(bit, sign.low)),
          _mm256_or_ps(magnitude.high, _mm256_and_ps(bit, sign.high))};
}
inline Lanes16 SelectLess(Lanes16 a, Lanes16 b, Lanes16 x, Lanes16 y) {
  return {_mm256_blendv_ps(y.low, x.low, _mm256_cmp_ps(a.low, b.low, _CMP_LT_OQ)),
          _mm256_blendv_ps(y.high, x.high, _mm256_cmp_ps(a.high, b.high, _CMP_LT_OQ))};
}
inline Lanes16 ReplaceNan(Lanes16 a, Lanes16 other) {
  return {_mm256_blendv_ps(a.low, other.low, _mm256_cmp_ps(a.low, a.low, _CMP_UNORD_Q)),
          _mm256_blendv_ps(a.high, other.high, _mm256_cmp_ps(a.high, a.high, _CMP_UNORD_Q))};
}
inline Lanes16 SelectRange(Lanes16 a, int begin, int end, Lanes16 other) {
  const __m256i low = _mm256_andnot_si256(PrefixMask(begin), PrefixMask(end));
  const __m256i high = _mm256_andnot_si256(PrefixMask(begin - 8), PrefixMask(end - 8));
  return {_mm256_blendv_ps(other.low, a.low, _mm256_castsi256_ps(low)),
          _mm256_blendv_ps(other.high, a.high, _mm256_castsi256_ps(high))};
}
inline __m256 PowerOfTwo8(__m256 t) {
  const __m256i shifted = _mm256_slli_epi32(_mm256_castps_si256(t), 23);
  return _mm256_castsi256_ps(_mm256_add_epi32(shifted, _mm256_set1_epi32(0x3F800000)));
}
inline Lanes16 PowerOfTwo(Lanes16 t) { return {PowerOfTwo8(t.low), PowerOfTwo8(t.high)}; }
inline Lanes16 SwapPairs(Lanes16 a) {
  return {_mm256_permute_ps(a.low, 0xB1), _mm256_permute_ps(a.high, 0xB1)};
}
inline float ReduceAdd(Lanes16 a) {
  const __m256 eight = _mm256_add_ps(a.low, a.high);
  const __m128 four = _mm_add_ps(_mm256_castps256_ps128(eight), _mm256_extractf128_ps(eight, 1));
  const __m128 two = _mm_add_ps(four, _mm_movehl_ps(four, four));
  return _mm_cvtss_f32(_mm_add_ss(two, _mm_shuffle_ps(two, two, 1)));
}
inline float ReduceMax(Lanes16 a) {
  const __m256 eight = _mm256_max_ps(a.low, a.high);
  const __m128 four = _mm_max_ps(_mm256_castps256_ps128(eight), _mm256_extractf128_ps(eight, 1));
  const __m128 two = _mm_max_ps(four, _mm_movehl_ps(four, four));
  return _mm_cvtss_f32(_mm_max_ss(two, _mm_shuffle_ps(two, two, 1)));
}
inline __m128i ToHalf8(__m256 x) {
  const __m256 bounded =
      _mm256_max_ps(_mm256_set1_ps(-65504.0F), _mm256_min_ps(_mm256_set1_ps(65504.0F), x));
  return _mm256_cvtps_ph(bounded, _MM_FROUND_TO_NEAREST_INT);
}
inline void Lanes16::StoreHalfMasked(uint16_t* p, int n) const {
  if (n == 16) {
    _mm_storeu_si128(reinterpret_cast<__m128i*>(p), ToHalf8(low));
    _mm_storeu_si128(reinterpret_cast<__m128i*>(p + 8), ToHalf8(high));
    return;
  }
  uint16_t padded[16];
  _mm_storeu_si128(reinterpret_cast<__m128i*>(padded), ToHalf8(low));
  _mm_storeu_si128(reinterpret_cast<__m128i*>(padded + 8), ToHalf8(high));
  for (int i = 0; i < n; ++i) p[i] = padded[i];
}

struct Doubles8 {
  __m256d low;
  __m256d high;

  static Doubles8 Set(double x) { return {_mm256_set1_pd(x), _mm256_set1_pd(x)}; }
  static Doubles8 LoadMasked(const double* p, int n) {
    double padded[8] = {};
    for (int i = 0; i < n; ++i) padded[i] = p[i];
    return {_mm256_loadu_pd(padded), _mm256_loadu_pd(padded + 4)};
  }
  void StoreFloatMasked(float* p, int n) const {
    const __m256 x = _mm256_set_m128(_mm256_cvtpd_ps(high), _mm256_cvtpd_ps(low));
    _mm256_maskstore_ps(p, PrefixMask(n), x);
  }
};

inline Doubles8 Fma(Doubles8 a, Doubles8 b, Doubles8 c) {
  return {_mm256_fmadd_pd(a.low, b.low, c.low), _mm256_fmadd_pd(a.high, b.high, c.high)};
}
inline Doubles8 Sub(Doubles8 a, Doubles8 b) {
  return {_mm256_sub_pd(a.low, b.low), _mm256_sub_pd(a.high, b.high)};
}
inline Doubles8 Mul(Doubles8 a, Doubles8 b) {
  return {_mm256_mul_pd(a.low, b.low), _mm256_mul_pd(a.high, b.high)};
}
inline __m256d SelectOdd4(__m256d t, __m256d x, __m256d y) {
  // Bit 0 moves to the sign, which is what a blend looks at.
  const __m256i mask = _mm256_slli_epi64(_mm256_castpd_si256(t), 63);
  return _mm256_blendv_pd(y, x, _mm256_castsi256_pd(mask));
}
inline Doubles8 SelectOdd(Doubles8 t, Doubles8 x, Doubles8 y) {
  return {SelectOdd4(t.low, x.low, y.low), SelectOdd4(t.high, x.high, y.high)};
}
inline __m256d NegateByBit1Of4(__m256d x, __m256d t, uint64_t offset) {
  const __m256i sum =
      _mm256_add_epi64(_mm256_castpd_si256(t), _mm256_set1_epi64x(static_cast<int64_t>(offset)));
  const __m256i bit = _mm256_and_si256(sum, _mm256_set1_epi64x(2));
  return _mm256_xor_pd(x, _mm256_castsi256_pd(_mm256_slli_epi64(bit, 62)));
}
inline Doubles8 NegateByBit1(Doubles8 x, Doubles8 t, uint64_t offset) {
  return {NegateByBit1Of4(x.low, t.low, offset), NegateByBit1Of4(x.high, t.high, offset)};
}

}  // namespace shoal::kernels::cpu::avx2
