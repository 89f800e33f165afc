// SPDX-License-Identifier: Apache-2.0
// Block-quantised weights times int8 activations with VNNI: 16 outputs in the lanes, up to 8 rows
// in registers, weights unpacked on the way. Streams a tile once per panel; with one panel it runs
// at the memory roof.
#include <immintrin.h>

#include "kernels/cpu/avx512/matmul_lanes.h"
#include "kernels/cpu/avx512/quantise.h"
#include "kernels/cpu/matmul/lane_kernels.h"

namespace shoal::kernels::cpu::avx512 {
namespace {

// One int32 of a panel row in all lanes.
inline __m512i BroadcastInt(const uint8_t* p) {
  return _mm512_set1_epi32(*reinterpret_cast<const int32_t*>(p));
}
inline __m512 BroadcastFloat(const uint8_t* p) {
  return _mm512_set1_ps(*reinterpret_cast<const float*>(p));
}

// Where the dot product of row r starts, so that what UnsignedQuad adds to the weights is undone.
template <WeightFormat kFormat, int kHeight>
inline __m512i Start(const uint8_t* inputs, int r) {
  const __m512i magic = _mm512_set1_epi32(kMagicBits);
  switch (kFormat) {
    case WeightFormat::kQ8_0:
      return BroadcastInt(inputs + PanelStart128Offset(kHeight) + 4 * r);
    case WeightFormat::kQ4_0:
      return BroadcastInt(inputs + PanelStart8Offset(kHeight) + 4 * r);
    case WeightFormat::kQ5_0: {  // magic - 16 * sum
      const __m512i start8 = BroadcastInt(inputs + PanelStart8Offset(kHeight) + 4 * r);
      return _mm512_sub_epi32(_mm512_add_epi32(start8, start8), magic);
    }
    case WeightFormat::kQ6_K:
      return BroadcastInt(inputs + PanelStart32Offset(kHeight) + 4 * r);
    default:
      return magic;
  }
}

// A quad as unsigned bytes: int8 + 128, the other formats as they are stored.
template <WeightFormat kFormat>
inline __m512i UnsignedQuad(const uint8_t* group, int quad) {
  const __m512i bytes = UnpackQuad<kFormat>(group, quad);
  if constexpr (kFormat != WeightFormat::kQ8_0) return bytes;
  return _mm512_xor_si512(bytes, _mm512_set1_epi8(-128));
}

// acc += one group, for kHeight rows.
template <WeightFormat kFormat, int kHeight>
inline void AddGroup(const uint8_t* weights, const uint8_t* inputs, Lanes (&acc)[kHeight]) {
  constexpr int kColumns = StepColumns(kFormat);
  constexpr int kPairs = kColumns / 8;  // quads j and j + kPairs share packed bytes
  __m512i isum[kHeight];
#pragma GCC unroll 8
  for (int r = 0; r < kHeight; ++r) isum[r] = Start<kFormat, kHeight>(inputs, r);
#pragma GCC unroll 4
  for (int j = 0; j < kPairs; ++j) {
    const __m512i low = UnsignedQuad<kFormat>(weights, j);
    const __m512i high = UnsignedQuad<kFormat>(weights, j + kPairs);
#pragma GCC unroll 8
    for (int r = 0; r < kHeight; ++r) {
      const uint8_t* q = inputs + kColumns * r + 4 * j;
      isum[r] = _mm512_dpbusd_epi32(isum[r], low, BroadcastInt(q));
      isum[r] = _mm512_dpbusd_epi32(isum[r], high, BroadcastInt(q + 4 * kPairs));
    }
  }
  const __m512 scale = Lanes::LoadF16(weights + ScaleOffset(kFormat)).v;
  const __m512 start = _mm512_mul_ps(scale, _mm512_set1_ps(-kMagicFloat));
  const uint8_t* scales = inputs + PanelScaleOffset(kColumns, kHeight);
#pragma GCC unroll 8
  for (int r = 0; r < kHeight; ++r) {
    const __m512 t = _mm512_fmadd_ps(_mm512_castsi512_ps(isum[r]), scale, start);
    acc[r].v = _mm512_fmadd_ps(t, BroadcastFloat(scales + 4 * r), acc[r].v);
  }
  if constexpr (HasMinimum(kFormat)) {
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
    for (int64_t k = leaf.begin; k < leaf.end; k += StepColumns(kFormat)) {
      for (int64_t line = 0; line < TileStepBytes(kFormat); line += 64) {
        _mm_prefetch(weights + kStreamPrefetchBytes + line, _MM_HINT_T0);
      }
      AddGroup<kFormat, kHeight>(weights, inputs, acc);
      weights += TileStepBytes(kFormat);
      inputs += PanelGroupBytes(StepColumns(kFormat), kHeight);
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
    .quantise_row = QuantiseRow,
    .quantise_row_16 = QuantiseRow16,
    .int8_height = 8,
    .float32_height = Lanes::kFloat32Height,
};

}  // namespace shoal::kernels::cpu::avx512
