// SPDX-License-Identifier: Apache-2.0
// Block-quantised weights times int8 activations with AVX2: 16 outputs in two registers, up to 4
// rows. vpmaddubsw multiplies unsigned by signed bytes and saturates at 16 bits: nibbles stay far
// below; for int8 weights it gets |w| and the activation with w's sign, at most 2 * 128 * 127.
#include <immintrin.h>

#include "kernels/cpu/avx2/matmul_lanes.h"
#include "kernels/cpu/matmul/float32_kernels.h"

namespace shoal::kernels::cpu::avx2 {
namespace {

struct Halves {
  __m256i low, high;  // outputs 0-7 and 8-15
};

inline __m256i Load256(const uint8_t* p) {
  return _mm256_loadu_si256(reinterpret_cast<const __m256i*>(p));
}
inline __m256i BroadcastInt(const uint8_t* p) {
  return _mm256_set1_epi32(*reinterpret_cast<const int32_t*>(p));
}

// Four columns of 16 outputs of a nibble format.
inline Halves NibbleQuad(const uint8_t* group, int quad) {
  const __m256i mask = _mm256_set1_epi8(15);
  const __m256i low = Load256(group + quad % 4 * 64);
  const __m256i high = Load256(group + quad % 4 * 64 + 32);
  if (quad < 4) return {_mm256_and_si256(low, mask), _mm256_and_si256(high, mask)};
  return {_mm256_and_si256(_mm256_srli_epi16(low, 4), mask),
          _mm256_and_si256(_mm256_srli_epi16(high, 4), mask)};
}

// The dot products of one group over nibbles, from kMagicBits. Eight products of at most 15 * 127
// twice fit 16 bits.
template <int kHeight>
inline void NibbleDots(const uint8_t* weights, const uint8_t* inputs, Halves (&isum)[kHeight]) {
#pragma GCC unroll 4
  for (int r = 0; r < kHeight; ++r) isum[r] = {_mm256_setzero_si256(), _mm256_setzero_si256()};
#pragma GCC unroll 8
  for (int j = 0; j < 8; ++j) {
    const Halves w = NibbleQuad(weights, j);
#pragma GCC unroll 4
    for (int r = 0; r < kHeight; ++r) {
      const __m256i q = BroadcastInt(inputs + kGroup * r + 4 * j);
      isum[r].low = _mm256_add_epi16(isum[r].low, _mm256_maddubs_epi16(w.low, q));
      isum[r].high = _mm256_add_epi16(isum[r].high, _mm256_maddubs_epi16(w.high, q));
    }
  }
  const __m256i ones = _mm256_set1_epi16(1);
#pragma GCC unroll 4
  for (int r = 0; r < kHeight; ++r) {
    isum[r].low = _mm256_madd_epi16(isum[r].low, ones);
    isum[r].high = _mm256_madd_epi16(isum[r].high, ones);
  }
}

// The same over int8 weights.
template <int kHeight>
inline void ByteDots(const uint8_t* weights, const uint8_t* inputs, Halves (&isum)[kHeight]) {
  const __m256i ones = _mm256_set1_epi16(1);
#pragma GCC unroll 4
  for (int r = 0; r < kHeight; ++r) isum[r] = {_mm256_setzero_si256(), _mm256_setzero_si256()};
#pragma GCC unroll 8
  for (int j = 0; j < 8; ++j) {
    const __m256i low = Load256(weights + j * 64);
    const __m256i high = Load256(weights + j * 64 + 32);
    const __m256i low_magnitude = _mm256_abs_epi8(low);
    const __m256i high_magnitude = _mm256_abs_epi8(high);
#pragma GCC unroll 4
    for (int r = 0; r < kHeight; ++r) {
      const __m256i q = BroadcastInt(inputs + kGroup * r + 4 * j);
      const __m256i low_pairs = _mm256_maddubs_epi16(low_magnitude, _mm256_sign_epi8(q, low));
      const __m256i high_pairs = _mm256_maddubs_epi16(high_magnitude, _mm256_sign_epi8(q, high));
      isum[r].low = _mm256_add_epi32(isum[r].low, _mm256_madd_epi16(low_pairs, ones));
      isum[r].high = _mm256_add_epi32(isum[r].high, _mm256_madd_epi16(high_pairs, ones));
    }
  }
}

// acc += one group, for kHeight rows.
template <WeightFormat kFormat, int kHeight>
inline void AddGroup(const uint8_t* weights, const uint8_t* inputs, Lanes (&acc)[kHeight]) {
  Halves isum[kHeight];
  if constexpr (kFormat == WeightFormat::kQ8_0) {
    ByteDots<kHeight>(weights, inputs, isum);
  } else {
    NibbleDots<kHeight>(weights, inputs, isum);
  }
  const Lanes scale = Lanes::LoadF16(weights + ScaleOffset(kFormat));
  const Lanes start = Lanes::Mul(scale, Lanes::Broadcast(-kMagicFloat));
#pragma GCC unroll 4
  for (int r = 0; r < kHeight; ++r) {
    const __m256i magic = kFormat == WeightFormat::kQ4_0
                              ? BroadcastInt(inputs + PanelStart8Offset(kHeight) + 4 * r)
                              : _mm256_set1_epi32(kMagicBits);
    const Lanes sum = {_mm256_castsi256_ps(_mm256_add_epi32(isum[r].low, magic)),
                       _mm256_castsi256_ps(_mm256_add_epi32(isum[r].high, magic))};
    const Lanes t = Lanes::Fma(sum, scale, start);
    const float* fields = reinterpret_cast<const float*>(inputs + PanelScaleOffset(kHeight));
    acc[r] = Lanes::Fma(t, Lanes::Broadcast(fields[r]), acc[r]);
    if constexpr (kFormat == WeightFormat::kQ4_1) {
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
    for (int64_t k = leaf.begin; k < leaf.end; k += kGroup) {
      AddGroup<kFormat, kHeight>(weights, inputs, acc);
      weights += TileStepBytes(kFormat);
      inputs += PanelGroupBytes(kHeight);
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

void QuantiseRow(const float* x, int64_t groups, int64_t height, int64_t row, uint8_t* panel) {
  const __m256i magnitude = _mm256_set1_epi32(0x7FFFFFFF);
  for (int64_t g = 0; g < groups; ++g, x += kGroup, panel += PanelGroupBytes(height)) {
    __m256i bits = _mm256_setzero_si256();
    for (int i = 0; i < kGroup; i += 8) {
      const __m256i value = _mm256_castps_si256(_mm256_loadu_ps(x + i));
      bits = _mm256_max_epi32(bits, _mm256_and_si256(value, magnitude));
    }
    const int amax_bits = ReduceMax(bits);
    const bool finite = amax_bits < 0x7F800000;
    const __m128 amax = _mm_castsi128_ps(_mm_cvtsi32_si128(finite ? amax_bits : 0));
    float scale = _mm_cvtss_f32(_mm_div_ss(amax, _mm_set_ss(127.0f)));
    const __m256 factor = _mm256_set1_ps(scale > 0.0f ? 1.0f / scale : 0.0f);
    const __m256i keep = _mm256_set1_epi32(finite ? -1 : 0);
    const __m256i a = Quantise8(x, factor, keep), b = Quantise8(x + 8, factor, keep);
    const __m256i c = Quantise8(x + 16, factor, keep), d = Quantise8(x + 24, factor, keep);
    // The packs work in 128-bit halves; the permutation restores the order.
    const __m256i packed = _mm256_packs_epi16(_mm256_packs_epi32(a, b), _mm256_packs_epi32(c, d));
    const __m256i order = _mm256_setr_epi32(0, 4, 1, 5, 2, 6, 3, 7);
    _mm256_storeu_si256(reinterpret_cast<__m256i*>(panel + row * kGroup),
                        _mm256_permutevar8x32_epi32(packed, order));
    const int sum = ReduceAdd(_mm256_add_epi32(_mm256_add_epi32(a, b), _mm256_add_epi32(c, d)));
    if (!finite) scale = __builtin_nanf("");
    uint8_t* fields = panel + 4 * row;
    *reinterpret_cast<float*>(fields + PanelScaleOffset(height)) = scale;
    *reinterpret_cast<float*>(fields + PanelScaledSumOffset(height)) =
        scale * static_cast<float>(sum);
    *reinterpret_cast<int32_t*>(fields + PanelStart8Offset(height)) = kMagicBits - 8 * sum;
    *reinterpret_cast<int32_t*>(fields + PanelStart128Offset(height)) = kMagicBits - 128 * sum;
  }
}

}  // namespace

const MatMulKernels kMatMulKernels = {
    .int8 = {nullptr, nullptr, nullptr, MatMulInt8<WeightFormat::kQ8_0>,
             MatMulInt8<WeightFormat::kQ4_0>, MatMulInt8<WeightFormat::kQ4_1>},
    .float32 = {MatMulFloat32<Lanes, WeightFormat::kF32>, MatMulFloat32<Lanes, WeightFormat::kF16>,
                MatMulFloat32<Lanes, WeightFormat::kBF16>,
                MatMulFloat32<Lanes, WeightFormat::kQ8_0>,
                MatMulFloat32<Lanes, WeightFormat::kQ4_0>,
                MatMulFloat32<Lanes, WeightFormat::kQ4_1>},
    .quantise_row = QuantiseRow,
    .int8_height = 4,
    .float32_height = Lanes::kFloat32Height,
};

}  // namespace shoal::kernels::cpu::avx2
