// SPDX-License-Identifier: Apache-2.0
// Block-quantised weights times int8 activations with AVX2: 16 outputs in two registers, up to 4
// rows. vpmaddubsw multiplies unsigned by signed bytes and saturates at 16 bits: nibbles stay far
// below; for int8 weights it gets |w| and the activation with w's sign, at most 2 * 128 * 127.
#include <immintrin.h>

#include "kernels/cpu/avx2/matmul_lanes.h"
#include "kernels/cpu/matmul/lane_kernels.h"

namespace shoal::kernels::cpu::avx2 {
namespace {

inline __m256i BroadcastInt(const uint8_t* p) {
  return _mm256_set1_epi32(*reinterpret_cast<const int32_t*>(p));
}

// Quads whose products 16 bits hold: two of at most 15, 31 or 63 times 127 from each.
constexpr int QuadsIn16Bits(WeightFormat format) {
  switch (format) {
    case WeightFormat::kQ6_K:
      return 2;
    case WeightFormat::kQ5_0:
    case WeightFormat::kQ5_1:
      return 4;
    default:
      return 8;
  }
}

// The dot products of one group over unsigned weights.
template <WeightFormat kFormat, int kHeight>
inline void UnsignedDots(const uint8_t* weights, const uint8_t* inputs, Quad (&isum)[kHeight]) {
  constexpr int kColumns = StepColumns(kFormat);
  constexpr int kQuads = QuadsIn16Bits(kFormat);
  const __m256i ones = _mm256_set1_epi16(1);
#pragma GCC unroll 4
  for (int r = 0; r < kHeight; ++r) isum[r] = {_mm256_setzero_si256(), _mm256_setzero_si256()};
#pragma GCC unroll 4
  for (int first = 0; first < kColumns / 4; first += kQuads) {
    Quad pairs[kHeight];
#pragma GCC unroll 4
    for (int r = 0; r < kHeight; ++r) pairs[r] = {_mm256_setzero_si256(), _mm256_setzero_si256()};
#pragma GCC unroll 8
    for (int j = first; j < first + kQuads; ++j) {
      const Quad w = UnpackQuad<kFormat>(weights, j);
#pragma GCC unroll 4
      for (int r = 0; r < kHeight; ++r) {
        const __m256i q = BroadcastInt(inputs + kColumns * r + 4 * j);
        pairs[r].low = _mm256_add_epi16(pairs[r].low, _mm256_maddubs_epi16(w.low, q));
        pairs[r].high = _mm256_add_epi16(pairs[r].high, _mm256_maddubs_epi16(w.high, q));
      }
    }
#pragma GCC unroll 4
    for (int r = 0; r < kHeight; ++r) {
      isum[r].low = _mm256_add_epi32(isum[r].low, _mm256_madd_epi16(pairs[r].low, ones));
      isum[r].high = _mm256_add_epi32(isum[r].high, _mm256_madd_epi16(pairs[r].high, ones));
    }
  }
}

// The same over int8 weights.
template <int kHeight>
inline void SignedDots(const uint8_t* weights, const uint8_t* inputs, Quad (&isum)[kHeight]) {
  constexpr int kColumns = StepColumns(WeightFormat::kQ8_0);
  const __m256i ones = _mm256_set1_epi16(1);
#pragma GCC unroll 4
  for (int r = 0; r < kHeight; ++r) isum[r] = {_mm256_setzero_si256(), _mm256_setzero_si256()};
#pragma GCC unroll 8
  for (int j = 0; j < kColumns / 4; ++j) {
    const Quad w = UnpackQuad<WeightFormat::kQ8_0>(weights, j);
    const Quad magnitude = {_mm256_abs_epi8(w.low), _mm256_abs_epi8(w.high)};
#pragma GCC unroll 4
    for (int r = 0; r < kHeight; ++r) {
      const __m256i q = BroadcastInt(inputs + kColumns * r + 4 * j);
      const __m256i low = _mm256_maddubs_epi16(magnitude.low, _mm256_sign_epi8(q, w.low));
      const __m256i high = _mm256_maddubs_epi16(magnitude.high, _mm256_sign_epi8(q, w.high));
      isum[r].low = _mm256_add_epi32(isum[r].low, _mm256_madd_epi16(low, ones));
      isum[r].high = _mm256_add_epi32(isum[r].high, _mm256_madd_epi16(high, ones));
    }
  }
}

// Where the dot product of row r starts, so that it is over weights less their offset.
template <WeightFormat kFormat, int kHeight>
inline __m256i Start(const uint8_t* inputs, int r) {
  const __m256i magic = _mm256_set1_epi32(kMagicBits);
  switch (kFormat) {
    case WeightFormat::kQ4_0:
      return BroadcastInt(inputs + PanelStart8Offset(kHeight) + 4 * r);
    case WeightFormat::kQ5_0: {  // magic - 16 * sum
      const __m256i start8 = BroadcastInt(inputs + PanelStart8Offset(kHeight) + 4 * r);
      return _mm256_sub_epi32(_mm256_add_epi32(start8, start8), magic);
    }
    case WeightFormat::kQ6_K:
      return BroadcastInt(inputs + PanelStart32Offset(kHeight) + 4 * r);
    default:
      return magic;
  }
}

// acc += one group, for kHeight rows.
template <WeightFormat kFormat, int kHeight>
inline void AddGroup(const uint8_t* weights, const uint8_t* inputs, Lanes (&acc)[kHeight]) {
  constexpr int kColumns = StepColumns(kFormat);
  Quad isum[kHeight];
  if constexpr (kFormat == WeightFormat::kQ8_0) {
    SignedDots<kHeight>(weights, inputs, isum);
  } else {
    UnsignedDots<kFormat, kHeight>(weights, inputs, isum);
  }
  const Lanes scale = Lanes::LoadF16(weights + ScaleOffset(kFormat));
  const Lanes start = Lanes::Mul(scale, Lanes::Broadcast(-kMagicFloat));
  const auto* fields = reinterpret_cast<const float*>(inputs + PanelScaleOffset(kColumns, kHeight));
#pragma GCC unroll 4
  for (int r = 0; r < kHeight; ++r) {
    const __m256i first = Start<kFormat, kHeight>(inputs, r);
    const Lanes sum = {_mm256_castsi256_ps(_mm256_add_epi32(isum[r].low, first)),
                       _mm256_castsi256_ps(_mm256_add_epi32(isum[r].high, first))};
    const Lanes t = Lanes::Fma(sum, scale, start);
    acc[r] = Lanes::Fma(t, Lanes::Broadcast(fields[r]), acc[r]);
    if constexpr (HasMinimum(kFormat)) {
      const Lanes minimum = Lanes::LoadF16(weights + MinimumOffset(kFormat));
      acc[r] = Lanes::Fma(minimum, Lanes::Broadcast(fields[kHeight + r]), acc[r]);
    }
  }
}

template <WeightFormat kFormat, int kHeight>
void RunPanel(const MatMulArgs& args, int64_t tile, const Panel& panel) {
  const uint8_t* weights = args.tiles + tile * args.tile_bytes;
  const uint8_t* inputs = panel.data;
  LeafStack<Lanes, kHeight> stack;
  Lanes acc[kHeight] = {};
  for (int64_t i = 0; i < args.leaf_count; ++i) {
    const LeafStep leaf = args.leaves[i];
#pragma GCC unroll 4
    for (int r = 0; r < kHeight; ++r) acc[r] = Lanes::Zero();
    for (int64_t k = leaf.begin; k < leaf.end; k += StepColumns(kFormat)) {
      AddGroup<kFormat, kHeight>(weights, inputs, acc);
      weights += TileStepBytes(kFormat);
      inputs += PanelGroupBytes(StepColumns(kFormat), kHeight);
      asm("" : "+r"(inputs));  // one base pointer instead of one per row
    }
    stack.Push(leaf, acc);
  }
#pragma GCC unroll 4
  for (int r = 0; r < kHeight; ++r) {
    if (r < panel.rows) EmitTile(args, panel.first_row + r, tile, acc[r]);
  }
}

template <WeightFormat kFormat>
void MatMulInt8(const MatMulArgs& args) {
  for (int64_t tile = args.first_tile; tile < args.end_tile; ++tile) {
    for (int64_t p = 0; p < args.panel_count; ++p) {
      const Panel& panel = args.panels[p];
      switch (panel.height) {
        case 1:
          RunPanel<kFormat, 1>(args, tile, panel);
          break;
        case 2:
          RunPanel<kFormat, 2>(args, tile, panel);
          break;
        default:
          RunPanel<kFormat, 4>(args, tile, panel);
      }
    }
  }
}

// Eight values of a group as integers; zero where the group is not finite.
inline __m256i Quantise8(const float* x, __m256 factor, __m256i keep) {
  return _mm256_and_si256(_mm256_cvtps_epi32(_mm256_mul_ps(_mm256_loadu_ps(x), factor)), keep);
}

inline int ReduceMax(__m256i v) {
  __m128i m = _mm_max_epi32(_mm256_castsi256_si128(v), _mm256_extracti128_si256(v, 1));
  m = _mm_max_epi32(m, _mm_shuffle_epi32(m, 0x4E));
  return _mm_cvtsi128_si32(_mm_max_epi32(m, _mm_shuffle_epi32(m, 0xB1)));
}

inline int ReduceAdd(__m256i v) {
  __m128i s = _mm_add_epi32(_mm256_castsi256_si128(v), _mm256_extracti128_si256(v, 1));
  s = _mm_add_epi32(s, _mm_shuffle_epi32(s, 0x4E));
  return _mm_cvtsi128_si32(_mm_add_epi32(s, _mm_shuffle_epi32(s, 0xB1)));
}

template <int kColumns>
void QuantiseRow(const float* x, int64_t groups, int64_t height, int64_t row, uint8_t* panel) {
  const __m256i magnitude = _mm256_set1_epi32(0x7FFFFFFF);
  for (int64_t g = 0; g < groups; ++g, x += kColumns, panel += PanelGroupBytes(kColumns, height)) {
    __m256i bits = _mm256_setzero_si256();
    for (int i = 0; i < kColumns; i += 8) {
      const __m256i value = _mm256_castps_si256(_mm256_loadu_ps(x + i));
      bits = _mm256_max_epi32(bits, _mm256_and_si256(value, magnitude));
    }
    const int amax_bits = ReduceMax(bits);
    const bool finite = amax_bits < 0x7F800000;
    const __m128 amax = _mm_castsi128_ps(_mm_cvtsi32_si128(finite ? amax_bits : 0));
    float scale = _mm_cvtss_f32(_mm_div_ss(amax, _mm_set_ss(127.0f)));
    const __m256 factor = _mm256_set1_ps(scale > 0.0f ? 1.0f / scale : 0.0f);
    const __m256i keep = _mm256_set1_epi32(finite ? -1 : 0);
    __m256i sums = _mm256_setzero_si256();
    for (int i = 0; i < kColumns; i += 16) {
      const __m256i a = Quantise8(x + i, factor, keep), b = Quantise8(x + i + 8, factor, keep);
      sums = _mm256_add_epi32(sums, _mm256_add_epi32(a, b));
      // The packs work in 128-bit halves; the permutation restores the order.
      const __m256i words = _mm256_permute4x64_epi64(_mm256_packs_epi32(a, b), 0xD8);
      const __m128i bytes =
          _mm_packs_epi16(_mm256_castsi256_si128(words), _mm256_extracti128_si256(words, 1));
      _mm_storeu_si128(reinterpret_cast<__m128i*>(panel + row * kColumns + i), bytes);
    }
    const int sum = ReduceAdd(sums);
    if (!finite) scale = __builtin_nanf("");
    uint8_t* fields = panel + 4 * row;
    *reinterpret_cast<float*>(fields + PanelScaleOffset(kColumns, height)) = scale;
    if constexpr (kColumns == 16) {
      *reinterpret_cast<int32_t*>(fields + PanelStart32Offset(height)) = kMagicBits - 32 * sum;
    } else {
      *reinterpret_cast<float*>(fields + PanelScaledSumOffset(height)) =
          scale * static_cast<float>(sum);
      *reinterpret_cast<int32_t*>(fields + PanelStart8Offset(height)) = kMagicBits - 8 * sum;
      *reinterpret_cast<int32_t*>(fields + PanelStart128Offset(height)) = kMagicBits - 128 * sum;
    }
  }
}

constexpr MatMulTable kInt8Kernels = {nullptr,
                                      nullptr,
                                      nullptr,
                                      MatMulInt8<WeightFormat::kQ8_0>,
                                      MatMulInt8<WeightFormat::kQ4_0>,
                                      MatMulInt8<WeightFormat::kQ4_1>,
                                      MatMulInt8<WeightFormat::kQ5_0>,
                                      MatMulInt8<WeightFormat::kQ5_1>,
                                      MatMulInt8<WeightFormat::kQ6_K>};

}  // namespace

const MatMulKernels kMatMulKernels = {
    .int8 = kInt8Kernels,
    .float32 = kFloat32Kernels,
    .quantise_row = QuantiseRow<32>,
    .quantise_row_16 = QuantiseRow<16>,
    .int8_height = 4,
    .float32_height = Lanes::kFloat32Height,
};

}  // namespace shoal::kernels::cpu::avx2
