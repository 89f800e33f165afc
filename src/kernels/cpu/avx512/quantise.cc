// SPDX-License-Identifier: Apache-2.0
// Quantises 16 groups of a row at a time: their maxima and sums are reduced together, one lane a
// group, so that the divisions are two vector instructions for all of them.
#include "kernels/cpu/avx512/quantise.h"

#include <immintrin.h>

#include "kernels/cpu/matmul/layout.h"

namespace shoal::kernels::cpu::avx512 {
namespace {

constexpr int kGroups = 16;

struct Maximum {
  static __m512i Of(__m512i a, __m512i b) { return _mm512_max_epi32(a, b); }
};
struct Sum {
  static __m512i Of(__m512i a, __m512i b) { return _mm512_add_epi32(a, b); }
};

// Lane i of the result is all 16 lanes of v[i] reduced. Overwrites v.
template <typename Op>
inline __m512i ReduceEach(__m512i (&v)[kGroups]) {
#pragma GCC unroll 8
  for (int i = 0; i < 8; ++i) {
    v[i] = Op::Of(_mm512_unpacklo_epi32(v[2 * i], v[2 * i + 1]),
                  _mm512_unpackhi_epi32(v[2 * i], v[2 * i + 1]));
  }
#pragma GCC unroll 4
  for (int i = 0; i < 4; ++i) {
    v[i] = Op::Of(_mm512_unpacklo_epi64(v[2 * i], v[2 * i + 1]),
                  _mm512_unpackhi_epi64(v[2 * i], v[2 * i + 1]));
  }
#pragma GCC unroll 2
  for (int i = 0; i < 2; ++i) {
    v[i] = Op::Of(_mm512_shuffle_i32x4(v[2 * i], v[2 * i + 1], 0x88),
                  _mm512_shuffle_i32x4(v[2 * i], v[2 * i + 1], 0xDD));
  }
  return Op::Of(_mm512_shuffle_i32x4(v[0], v[1], 0x88), _mm512_shuffle_i32x4(v[0], v[1], 0xDD));
}

// The scalars of 16 groups as they go into the panel.
struct Fields {
  alignas(64) float inverse[kGroups];
  alignas(64) int32_t scale[kGroups];  // bits
  alignas(64) int32_t scaled_sum[kGroups];
  alignas(64) int32_t start8[kGroups];
  alignas(64) int32_t start128[kGroups];
};

// Largest magnitudes, by their bits, of the first `count` groups; 0 for the others.
inline __m512i LargestBits(const float* x, int count) {
  const __m512i magnitude = _mm512_set1_epi32(0x7FFFFFFF);
  __m512i v[kGroups];
#pragma GCC unroll 16
  for (int i = 0; i < kGroups; ++i) {
    v[i] = _mm512_setzero_si512();
    if (i >= count) continue;
    const __m512i low = _mm512_castps_si512(_mm512_loadu_ps(x + i * kGroup));
    const __m512i high = _mm512_castps_si512(_mm512_loadu_ps(x + i * kGroup + 16));
    v[i] = _mm512_max_epi32(_mm512_and_si512(low, magnitude), _mm512_and_si512(high, magnitude));
  }
  return ReduceEach<Maximum>(v);
}

// Writes the integers of `count` groups; their sums.
inline __m512i WriteIntegers(const float* x, int count, const float* inverse, unsigned finite,
                             int64_t stride, uint8_t* out) {
  __m512i v[kGroups];
#pragma GCC unroll 16
  for (int i = 0; i < kGroups; ++i) {
    v[i] = _mm512_setzero_si512();
    if (i >= count) continue;
    const __m512 factor = _mm512_set1_ps(inverse[i]);
    const auto keep = static_cast<__mmask16>((finite >> i & 1) != 0 ? 0xFFFF : 0);
    const __m512i low =
        _mm512_maskz_cvtps_epi32(keep, _mm512_mul_ps(_mm512_loadu_ps(x + i * kGroup), factor));
    const __m512i high =
        _mm512_maskz_cvtps_epi32(keep, _mm512_mul_ps(_mm512_loadu_ps(x + i * kGroup + 16), factor));
    __m128i* place = reinterpret_cast<__m128i*>(out + i * stride);
    _mm_storeu_si128(place, _mm512_cvtepi32_epi8(low));
    _mm_storeu_si128(place + 1, _mm512_cvtepi32_epi8(high));
    v[i] = _mm512_add_epi32(low, high);
  }
  return ReduceEach<Sum>(v);
}

// One row of `count` <= 16 groups of a panel.
inline void QuantiseGroups(const float* x, int count, int64_t height, int64_t row, uint8_t* panel) {
  const int64_t stride = PanelGroupBytes(height);
  const __m512i largest = LargestBits(x, count);
  const __mmask16 finite = _mm512_cmplt_epi32_mask(largest, _mm512_set1_epi32(0x7F800000));
  const __m512 amax = _mm512_castsi512_ps(_mm512_maskz_mov_epi32(finite, largest));
  const __m512 scale = _mm512_div_ps(amax, _mm512_set1_ps(127.0F));
  const __mmask16 positive = _mm512_cmp_ps_mask(scale, _mm512_setzero_ps(), _CMP_GT_OQ);
  Fields fields;
  _mm512_store_ps(fields.inverse, _mm512_maskz_div_ps(positive, _mm512_set1_ps(1.0F), scale));
  const __m512i sum = WriteIntegers(x, count, fields.inverse, finite, stride, panel + row * kGroup);
  const __m512 stored = _mm512_mask_mov_ps(_mm512_set1_ps(__builtin_nanf("")), finite, scale);
  const __m512i magic = _mm512_set1_epi32(kMagicBits);
  _mm512_store_ps(fields.scale, stored);
  _mm512_store_ps(fields.scaled_sum, _mm512_mul_ps(stored, _mm512_cvtepi32_ps(sum)));
  _mm512_store_si512(fields.start8, _mm512_sub_epi32(magic, _mm512_slli_epi32(sum, 3)));
  _mm512_store_si512(fields.start128, _mm512_sub_epi32(magic, _mm512_slli_epi32(sum, 7)));
  uint8_t* place = panel + 4 * row;
  for (int i = 0; i < count; ++i, place += stride) {
    *reinterpret_cast<int32_t*>(place + PanelScaleOffset(height)) = fields.scale[i];
    *reinterpret_cast<int32_t*>(place + PanelScaledSumOffset(height)) = fields.scaled_sum[i];
    *reinterpret_cast<int32_t*>(place + PanelStart8Offset(height)) = fields.start8[i];
    *reinterpret_cast<int32_t*>(place + PanelStart128Offset(height)) = fields.start128[i];
  }
}

}  // namespace

void QuantiseRow(const float* x, int64_t groups, int64_t height, int64_t row, uint8_t* panel) {
  for (; groups >= kGroups; groups -= kGroups) {
    QuantiseGroups(x, kGroups, height, row, panel);
    x += kGroups * kGroup;
    panel += kGroups * PanelGroupBytes(height);
  }
  if (groups > 0) QuantiseGroups(x, static_cast<int>(groups), height, row, panel);
}

}  // namespace shoal::kernels::cpu::avx512
