// SPDX-License-Identifier: Apache-2.0
// Block-quantised weights times int8 activations on AMX tiles, for panels of 16 rows. A tile of
// weights is unpacked once for all panels; one 16x16 result keeps its accumulators in registers
// over the whole K. The matrix unit is drained at each group of 32, two groups ahead of the float
// part.
#include <immintrin.h>

#include "kernels/cpu/avx512/matmul_lanes.h"
#include "kernels/cpu/matmul/lane_kernels.h"

namespace shoal::kernels::cpu::amx {
namespace {

using Lanes = avx512::Lanes;

constexpr int kRows = static_cast<int>(kAmxHeight);
constexpr int kRing = 4;             // results between the matrix unit and the float part
constexpr int kAhead = 2;            // groups the matrix unit is ahead
constexpr int64_t kBlockPanels = 4;  // whose inputs and outputs stay in L2 while all tiles pass
constexpr int64_t kL1Bytes = 32768;  // what two unpacked tiles may take

// One group of a tile, unpacked.
template <WeightFormat kFormat>
struct alignas(64) Group {
  int8_t weights[StepColumns(kFormat) / 4][kTile][4];
  float scale[kTile];
  float start[kTile];  // -kMagicFloat * scale
  float minimum[kTile];
};

struct alignas(64) TileConfig {
  uint8_t palette = 1;
  uint8_t start_row = 0;
  uint8_t reserved[14] = {};
  uint16_t row_bytes[16] = {};
  uint8_t rows[16] = {};
};

alignas(64) constexpr auto kStart = [] {
  struct Values {
    int32_t v[kRows][kTile];
  } start = {};
  for (auto& row : start.v) {
    for (int32_t& value : row) value = kMagicBits;
  }
  return start;
}();

// Tiles: 0, 1 results; 2, 3 activations; 4, 5 weights.
void Configure(int columns) {
  TileConfig config;
  for (int i = 0; i < 2; ++i) {
    config.row_bytes[i] = 4 * kTile;
    config.rows[i] = kRows;
    config.row_bytes[2 + i] = static_cast<uint16_t>(columns);
    config.rows[2 + i] = kRows;
    config.row_bytes[4 + i] = 4 * kTile;
    config.rows[4 + i] = static_cast<uint8_t>(columns / 4);
  }
  // GCC 12 declares too small an input for ldtilecfg; the asm reads all of it.
  asm volatile("ldtilecfg %0" ::"m"(config) : "memory");
}

template <WeightFormat kFormat>
void Unpack(const uint8_t* tile, int64_t groups, Group<kFormat>* out) {
  constexpr int kQuads = StepColumns(kFormat) / 4;
  const __m512i offset = _mm512_set1_epi8(QuantOffset(kFormat));
  for (int64_t g = 0; g < groups; ++g, tile += TileStepBytes(kFormat)) {
#pragma GCC unroll 8
    for (int quad = 0; quad < kQuads; ++quad) {
      _mm512_store_si512(out[g].weights[quad],
                         _mm512_sub_epi8(avx512::UnpackQuad<kFormat>(tile, quad), offset));
    }
    const Lanes scale = Lanes::LoadF16(tile + ScaleOffset(kFormat));
    scale.Store(out[g].scale);
    Lanes::Mul(scale, Lanes::Broadcast(-kMagicFloat)).Store(out[g].start);
    if constexpr (HasMinimum(kFormat)) {
      Lanes::LoadF16(tile + MinimumOffset(kFormat)).Store(out[g].minimum);
    }
  }
}

// Integer products of one group into a ring slot.
template <WeightFormat kFormat>
inline void Multiply(const Group<kFormat>& weights, const uint8_t* inputs, bool odd,
                     int32_t* slot) {
  constexpr int kColumns = StepColumns(kFormat);
  asm volatile("" ::: "memory");  // the tile instructions of GCC 12 name no memory
  if (odd) {
    _tile_loadd(1, kStart.v, 4 * kTile);
    _tile_loadd(3, inputs, kColumns);
    _tile_loadd(5, weights.weights, 4 * kTile);
    _tile_dpbssd(1, 3, 5);
    _tile_stored(1, slot, 4 * kTile);
  } else {
    _tile_loadd(0, kStart.v, 4 * kTile);
    _tile_loadd(2, inputs, kColumns);
    _tile_loadd(4, weights.weights, 4 * kTile);
    _tile_dpbssd(0, 2, 4);
    _tile_stored(0, slot, 4 * kTile);
  }
  asm volatile("" ::: "memory");
}

// acc += one group whose integer products lie in `slot`.
template <WeightFormat kFormat>
inline void AddGroup(const Group<kFormat>& weights, const uint8_t* inputs, const int32_t* slot,
                     Lanes (&acc)[kRows]) {
  const Lanes scale = Lanes::Load(weights.scale);
  const Lanes start = Lanes::Load(weights.start);
  const float* scales =
      reinterpret_cast<const float*>(inputs + PanelScaleOffset(StepColumns(kFormat), kRows));
#pragma GCC unroll 16
  for (int r = 0; r < kRows; ++r) {
    const Lanes sum = Lanes::Load(reinterpret_cast<const float*>(slot + r * kTile));
    acc[r] = Lanes::Fma(Lanes::Fma(sum, scale, start), Lanes::Broadcast(scales[r]), acc[r]);
  }
  if constexpr (HasMinimum(kFormat)) {
    const Lanes minimum = Lanes::Load(weights.minimum);
#pragma GCC unroll 16
    for (int r = 0; r < kRows; ++r) {
      acc[r] = Lanes::Fma(minimum, Lanes::Broadcast(scales[kRows + r]), acc[r]);
    }
  }
}

template <WeightFormat kFormat>
void RunTile(const MatMulArgs& args, int64_t tile, const Group<kFormat>* weights,
             const Panel& panel) {
  constexpr int kColumns = StepColumns(kFormat);
  constexpr int64_t kStride = PanelGroupBytes(kColumns, kRows);
  alignas(64) int32_t ring[kRing][kRows * kTile];
  const int64_t groups = args.cols / kColumns;
  const uint8_t* ahead = panel.data;
  for (int64_t g = 0; g < kAhead && g < groups; ++g, ahead += kStride) {
    Multiply<kFormat>(weights[g], ahead, (g & 1) != 0, ring[g]);
  }
  PrefetchOutputs<Lanes>(args, panel, tile);
  const uint8_t* inputs = panel.data;
  LeafStack<Lanes, kRows> stack;
  Lanes acc[kRows] = {};
  for (int64_t i = 0; i < args.leaf_count; ++i) {
    const LeafStep leaf = args.leaves[i];
#pragma GCC unroll 16
    for (int r = 0; r < kRows; ++r) acc[r] = Lanes::Zero();
    for (int64_t g = leaf.begin / kColumns; g < leaf.end / kColumns; ++g) {
      const int64_t next = g + kAhead;
      if (next < groups) {
        Multiply<kFormat>(weights[next], inputs + kAhead * kStride, (next & 1) != 0,
                          ring[next & (kRing - 1)]);
      }
      AddGroup<kFormat>(weights[g], inputs, ring[g & (kRing - 1)], acc);
      inputs += kStride;
      asm("" : "+r"(inputs));  // one base pointer instead of one per row
    }
    stack.Push(leaf, acc);
  }
#pragma GCC unroll 16
  for (int r = 0; r < kRows; ++r) {
    if (r < panel.rows) EmitTile(args, panel.first_row + r, tile, acc[r]);
  }
}

// Tiles [first, first + count), unpacked in turn, times panels [begin, end).
template <WeightFormat kFormat>
void RunTiles(const MatMulArgs& args, int64_t first, int64_t count, int64_t begin, int64_t end) {
  const int64_t groups = args.cols / StepColumns(kFormat);
  auto* unpacked = reinterpret_cast<Group<kFormat>*>(args.scratch);
  for (int64_t t = 0; t < count; ++t) {
    Unpack<kFormat>(args.tiles + (first + t) * args.tile_bytes, groups, unpacked + t * groups);
  }
  for (int64_t p = begin; p < end; ++p) {
    for (int64_t t = 0; t < count; ++t) {
      RunTile<kFormat>(args, first + t, unpacked + t * groups, args.panels[p]);
    }
  }
}

template <WeightFormat kFormat>
void MatMulInt8(const MatMulArgs& args) {
  Configure(StepColumns(kFormat));
  const int64_t unpacked_bytes =
      args.cols / StepColumns(kFormat) * static_cast<int64_t>(sizeof(Group<kFormat>));
  const int64_t step = 2 * unpacked_bytes <= kL1Bytes ? 2 : 1;
  for (int64_t begin = 0; begin < args.panel_count; begin += kBlockPanels) {
    const int64_t left = args.panel_count - begin;
    const int64_t end = begin + (left < kBlockPanels ? left : kBlockPanels);
    for (int64_t tile = args.first_tile; tile < args.end_tile; tile += step) {
      const int64_t count = args.end_tile - tile < step ? args.end_tile - tile : step;
      RunTiles<kFormat>(args, tile, count, begin, end);
    }
  }
  _tile_release();
}

}  // namespace

const MatMulTable kMatMulKernels = {nullptr,
                                    nullptr,
                                    nullptr,
                                    MatMulInt8<WeightFormat::kQ8_0>,
                                    MatMulInt8<WeightFormat::kQ4_0>,
                                    MatMulInt8<WeightFormat::kQ4_1>,
                                    MatMulInt8<WeightFormat::kQ5_0>,
                                    MatMulInt8<WeightFormat::kQ5_1>,
                                    MatMulInt8<WeightFormat::kQ6_K>};

}  // namespace shoal::kernels::cpu::amx
