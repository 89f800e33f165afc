// SPDX-License-Identifier: Apache-2.0
// Block-quantised weights times int8 activations with VNNI: 16 outputs in the lanes, up to 8 rows
// in registers, weights unpacked on the way. Streams a tile once per panel; with one panel it runs
// at the memory roof.
#include <immintrin.h>

#include "kernels/cpu/avx512/matmul_lanes.h"
#include "kernels/cpu/avx512/quantise.h"
#include "kernels/cpu/matmul/float32_kernels.h"

namespace shoal::kernels::cpu::avx512 {
namespace {

// Four columns of 16 outputs as unsigned bytes: nibbles, or int8 + 128.
template <WeightFormat kFormat>
inline __m512i UnsignedQuad(const uint8_t* group, int quad) {
  if constexpr (kFormat == WeightFormat::kQ8_0) {
    return _mm512_xor_si512(_mm512_loadu_si512(group + quad * 64), _mm512_set1_epi8(-128));
  } else {
    const __m512i bytes = _mm512_loadu_si512(group + quad % 4 * 64);
    const __m512i moved = quad < 4 ? bytes : _mm512_srli_epi16(bytes, 4);
    return _mm512_and_si512(moved, _mm512_set1_epi8(15));
  }
}

// One int32 of a panel row in all lanes.
inline __m512i BroadcastInt(const uint8_t* p) {
  return _mm512_set1_epi32(*reinterpret_cast<const int32_t*>(p));
}
inline __m512 BroadcastFloat(const uint8_t* p) {
  return _mm512_set1_ps(*reinterpret_cast<const float*>(p));
}

// acc += one group, for kHeight rows.
template <WeightFormat kFormat, int kHeight>
inline void AddGroup(const uint8_t* weights, const uint8_t* inputs, Lanes (&acc)[kHeight]) {
  __m512i isum[kHeight];
#pragma GCC unroll 8
  for (int r = 0; r < kHeight; ++r) {
    if constexpr (kFormat == WeightFormat::kQ4_1) {
      isum[r] = _mm512_set1_epi32(kMagicBits);
    } else if constexpr (kFormat == WeightFormat::kQ4_0) {
      isum[r] = BroadcastInt(inputs + PanelStart8Offset(kHeight) + 4 * r);
    } else {
      isum[r] = BroadcastInt(inputs + PanelStart128Offset(kHeight) + 4 * r);
    }
  }
#pragma GCC unroll 4
  for (int j = 0; j < 4; ++j) {
    const __m512i low = UnsignedQuad<kFormat>(weights, j);
    const __m512i high = UnsignedQuad<kFormat>(weights, j + 4);
#pragma GCC unroll 8
    for (int r = 0; r < kHeight; ++r) {
      const uint8_t* q = inputs + kGroup * r + 4 * j;
      isum[r] = _mm512_dpbusd_epi32(isum[r], low, BroadcastInt(q));
      isum[r] = _mm512_dpbusd_epi32(isum[r], high, BroadcastInt(q + 16));
    }
  }
  const __m512 scale = Lanes::LoadF16(weights + ScaleOffset(kFormat)).v;
  const __m512 start = _mm512_mul_ps(scale, _mm512_set1_ps(-kMagicFloat));
#pragma GCC unroll 8
  for (int r = 0; r < kHeight; ++r) {
    const __m512 t = _mm512_fmadd_ps(_mm512_castsi512_ps(isum[r]), scale, start);
    acc[r].v =
        _mm512_fmadd_ps(t, BroadcastFloat(inputs + PanelScaleOffset(kHeight) + 4 * r), acc[r].v);
  }
  if constexpr (kFormat == WeightFormat::kQ4_1) {
    const __m512 minimum = Lanes::LoadF16(weights + MinimumOffset(kFormat)).v;
#pragma GCC unroll 8
    for (int r = 0; r < kHeight; ++r) {
      const __m512 sum = BroadcastFloat(inputs + PanelScaledSumOffset(kHeight) + 4 * r);
      acc[r].v = _mm512_fmadd_ps(minimum, sum, acc[r].v);
    }
  }
}

template <WeightFormat kFormat, int kHeight>
void RunPanel(const MatMulArgs& args, int64_t tile, const Panel& panel) {
  const uint8_t* weights = args.tiles + tile * args.tile_bytes;
  const uint8_t* inputs = panel.data;
  if constexpr (kHeight > 1) PrefetchOutputs<Lanes>(args, panel, tile);
  LeafStack<Lanes, kHeight> stack;
  Lanes acc[kHeight] = {};
  for (int64_t i = 0; i < args.leaf_count; ++i) {
    const LeafStep leaf = args.leaves[i];
#pragma GCC unroll 8
    for (int r = 0; r < kHeight; ++r) acc[r] = Lanes::Zero();
    for (int64_t k = leaf.begin; k < leaf.end; k += kGroup) {
      for (int64_t line = 0; line < TileStepBytes(kFormat); line += 64) {
        _mm_prefetch(weights + kStreamPrefetchBytes + line, _MM_HINT_T0);
      }
      AddGroup<kFormat, kHeight>(weights, inputs, acc);
      weights += TileStepBytes(kFormat);
      inputs += PanelGroupBytes(kHeight);
      // One base pointer: GCC otherwise keeps one per row and spills them.
      asm("" : "+r"(inputs));
    }
    stack.Push(leaf, acc);
  }
#pragma GCC unroll 8
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
        case 4:
          RunPanel<kFormat, 4>(args, tile, panel);
          break;
        default:
          RunPanel<kFormat, 8>(args, tile, panel);
      }
    }
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
    .int8_height = 8,
    .float32_height = Lanes::kFloat32Height,
};

}  // namespace shoal::kernels::cpu::avx512
