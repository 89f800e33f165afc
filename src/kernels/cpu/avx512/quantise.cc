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
  alignas(64) int32_t start32[kGroups];
  alignas(64) int32_t start128[kGroups];
};

// Largest magnitudes, by their bits, of the first `count` groups; 0 for the others.
template <int kColumns>
inline __m512i LargestBits(const float* x, int count) {
  const __m512i magnitude = _mm512_set1_epi32(0x7FFFFFFF);
  __m512i v[kGroups];
#pragma GCC unroll 16
  for (int i = 0; i < kGroups; ++i) {
    v[i] = _mm512_setzero_si512();
    if (i >= count) continue;
    for (int k = 0; k < kColumns; k += 16) {
      const __m512i bits = _mm512_castps_si512(_mm512_loadu_ps(x + i * kColumns + k));
      v[i] = _mm512_max_epi32(v[i], _mm512_and_si512(bits, magnitude));
    }
  }
  return ReduceEach<Maximum>(v);
}

// Writes the integers of `count` groups; their sums.
template <int kColumns>
inline __m512i WriteIntegers(const float* x, int count, const float* inverse, unsigned finite,
                             int64_t stride, uint8_t* out) {
  __m512i v[kGroups];
#pragma GCC unroll 16
  for (int i = 0; i < kGroups; ++i) {
    v[i] = _mm512_setzero_si512();
    if (i >= count) continue;
    const __m512 factor = _mm512_set1_ps(inverse[i]);
    const auto keep = static_cast<__mmask16>((finite >> i & 1) != 0 ? 0xFFFF : 0);
    for (int k = 0; k < kColumns; k += 16) {
      const __m512 scaled = _mm512_mul_ps(_mm512_loadu_ps(x + i * kColumns + k), factor);
      const __m512i q = _mm512_maskz_cvtps_epi32(keep, scaled);
      _mm_storeu_si128(reinterpret_cast<__m128i*>(out + i * stride + k), _mm512_cvtepi32_epi8(q));
      v[i] = _mm512_add_epi32(v[i], q);
    }
  }
  return ReduceEach<Sum>(v);
}

// One row of `count` <= 16 groups of a panel.
template <int kColumns>
inline void QuantiseGroups(const float* x, int count, int64_t height, int64_t row, uint8_t* panel) {
  const int64_t stride = PanelGroupBytes(kColumns, height);
  const __m512i largest = LargestBits<kColumns>(x, count);
  const __mmask16 finite = _mm512_cmplt_epi32_mask(largest, _mm512_set1_epi32(0x7F800000));
  const __m512 amax = _mm512_castsi512_ps(_mm512_maskz_mov_epi32(finite, largest));
  const __m512 scale = _mm512_div_ps(amax, _mm512_set1_ps(127.0F));
  const __mmask16 positive = _mm512_cmp_ps_mask(scale, _mm512_setzero_ps(), _CMP_GT_OQ);
  Fields fields;
  _mm512_store_ps(fields.inverse, _mm512_maskz_div_ps(positive, _mm512_set1_ps(1.0F), scale));
  const __m512i sum =
      WriteIntegers<kColumns>(x, count, fields.inverse, finite, stride, panel + row * kColumns);
  const __m512 stored = _mm512_mask_mov_ps(_mm512_set1_ps(__builtin_nanf("")), finite, scale);
  const __m512i magic = _mm512_set1_epi32(kMagicBits);
  _mm512_store_ps(fields.scale, stored);
  _mm512_store_ps(fields.scaled_sum, _mm512_mul_ps(stored, _mm512_cvtepi32_ps(sum)));
  _mm512_store_si512(fields.start8, _mm512_sub_epi32(magic, _mm512_slli_epi32(sum, 3)));
  _mm512_store_si512(fields.start32, _mm512_sub_epi32(magic, _mm512_slli_epi32(sum, 5)));
  _mm512_store_si512(fields.start128, _mm512_sub_epi32(magic, _mm512_slli_epi32(sum, 7)));
  const auto put = [](uint8_t* place, int32_t value) {
    *reinterpret_cast<int32_t*>(place) = value;
  };
  uint8_t* place = panel + 4 * row;
  for (int i = 0; i < count; ++i, place += stride) {
    put(place + PanelScaleOffset(kColumns, height), fields.scale[i]);
    if constexpr (kColumns == 16) {
      put(place + PanelStart32Offset(height), fields.start32[i]);
    } else {
      put(place + PanelScaledSumOffset(height), fields.scaled_sum[i]);
      put(place + PanelStart8Offset(height), fields.start8[i]);
      put(place + PanelStart128Offset(height), fields.start128[i]);
    }
  }
}

template <int kColumns>
inline void QuantiseAll(const float* x, int64_t groups, int64_t height, int64_t row,
                        uint8_t* panel) {
  for (; groups >= kGroups; groups -= kGroups) {
    QuantiseGroups<kColumns>(x, kGroups, height, row, panel);
    x += kGroups * kColumns;
    panel += kGroups * PanelGroupBytes(kColumns, height);
  }
  if (groups > 0) QuantiseGroups<kColumns>(x, static_cast<int>(groups), height, row, panel);
}

}  // namespace

void QuantiseRow(const float* x, int64_t groups, int64_t height, int64_t row, uint8_t* panel) {
  QuantiseAll<32>(x, groups, height, row, panel);
}

void QuantiseRow16(const float* x, int64_t groups, int64_t height, int64_t row, uint8_t* panel) {
  QuantiseAll<16>(x, groups, height, row, panel);
}

}  // namespace shoal::kernels::cpu::avx512
