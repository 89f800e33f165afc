// SPDX-License-Identifier: Apache-2.0
// Matmul parts that are equal on every vector instruction set, written over a class `Lanes` of 16
// floats (avx2/matmul_lanes.h, avx512/matmul_lanes.h). Only templates over Lanes live here: each
// instruction set has its own type and so its own instantiations, which nothing else can link to.
#pragma once

#include <cstdint>

#include "kernels/cpu/matmul/kernels.h"
#include "kernels/cpu/matmul/layout.h"

namespace shoal::kernels::cpu {

// Adds the bias and writes or accumulates the outputs of tile `tile` of one row.
template <typename Lanes>
inline void EmitTile(const MatMulArgs& args, int64_t row, int64_t tile, Lanes sum) {
  const int64_t first = tile * kTile;
  float* out = args.out + row * args.out_stride + first;
  const Lanes value = args.bias == nullptr ? sum : Lanes::Add(sum, Lanes::Load(args.bias + first));
  if (args.outputs - first >= kTile) [[likely]] {
    (args.accumulate ? Lanes::Add(Lanes::Load(out), value) : value).Store(out);
    return;
  }
  alignas(64) float values[kTile];
  value.Store(values);
  for (int64_t i = 0; i < args.outputs - first; ++i) {
    out[i] = args.accumulate ? out[i] + values[i] : values[i];
  }
}

// Asks for the memory of the outputs of one tile of some rows before they are computed.
template <typename Lanes>
inline void PrefetchOutputs(const MatMulArgs& args, const Panel& panel, int64_t tile) {
  const float* out = args.out + panel.first_row * args.out_stride + tile * kTile;
  for (int64_t r = 0; r < panel.rows; ++r) __builtin_prefetch(out + r * args.out_stride, 1, 2);
}

// The sums of leaves that wait for their sibling, for `kCount` vectors at once. The tree is walked
// in post-order: LeafStep::merges says how many inner nodes a leaf completes.
template <typename Lanes, int kCount>
class LeafStack {
 public:
  // Takes the sums of one leaf; after the last leaf `sums` are those of the whole tree.
  inline void Push(const LeafStep& leaf, Lanes (&sums)[kCount]) {
    for (int64_t m = 0; m < leaf.merges; ++m) {
      const float* place = Waiting(--depth_);
#pragma GCC unroll 16
      for (int i = 0; i < kCount; ++i)
        sums[i] = Lanes::Add(Lanes::Load(place + i * kTile), sums[i]);
    }
    float* place = Waiting(depth_);
#pragma GCC unroll 16
    for (int i = 0; i < kCount; ++i) sums[i].Store(place + i * kTile);
    ++depth_;
  }

 private:
  // Hidden from the compiler: it would keep one pointer for each vector.
  inline float* Waiting(int64_t depth) {
    float* place = waiting_[depth][0];
    asm("" : "+r"(place));
    return place;
  }

  int64_t depth_ = 0;
  alignas(64) float waiting_[kMaxLeafStack][kCount][kTile];
};

// One panel of kHeight rows times kTiles tiles of float32 weights [column][16].
template <typename Lanes, int kHeight, int kTiles>
inline void Float32Panel(const MatMulArgs& args, int64_t tile,
                         const float* const (&weights)[kTiles], const Panel& panel) {
  const float* inputs = reinterpret_cast<const float*>(panel.data);
  LeafStack<Lanes, kHeight * kTiles> stack;
  Lanes acc[kHeight * kTiles] = {};
  for (int64_t i = 0; i < args.leaf_count; ++i) {
    const LeafStep leaf = args.leaves[i];
#pragma GCC unroll 16
    for (int a = 0; a < kHeight * kTiles; ++a) acc[a] = Lanes::Zero();
    for (int64_t k = leaf.begin; k < leaf.end; ++k) {
      Lanes weight[kTiles];
#pragma GCC unroll 2
      for (int t = 0; t < kTiles; ++t) weight[t] = Lanes::Load(weights[t] + k * kTile);
#pragma GCC unroll 8
      for (int r = 0; r < kHeight; ++r) {
        const Lanes x = Lanes::Broadcast(inputs[k * kHeight + r]);
#pragma GCC unroll 2
        for (int t = 0; t < kTiles; ++t) {
          acc[r * kTiles + t] = Lanes::Fma(weight[t], x, acc[r * kTiles + t]);
        }
      }
    }
    stack.Push(leaf, acc);
  }
#pragma GCC unroll 8
  for (int r = 0; r < kHeight; ++r) {
    if (r >= panel.rows) return;
#pragma GCC unroll 2
    for (int t = 0; t < kTiles; ++t) {
      EmitTile(args, panel.first_row + r, tile + t, acc[r * kTiles + t]);
    }
  }
}

// All panels times kTiles tiles.
template <typename Lanes, int kTiles>
inline void Float32Panels(const MatMulArgs& args, int64_t tile,
                          const float* const (&weights)[kTiles]) {
  for (int64_t p = 0; p < args.panel_count; ++p) {
    const Panel& panel = args.panels[p];
    switch (panel.height) {
      case 1:
        Float32Panel<Lanes, 1, kTiles>(args, tile, weights, panel);
        break;
      case 2:
        Float32Panel<Lanes, 2, kTiles>(args, tile, weights, panel);
        break;
      case 4:
        Float32Panel<Lanes, 4, kTiles>(args, tile, weights, panel);
        break;
      default:
        if constexpr (Lanes::kFloat32Height >= 8) {
          Float32Panel<Lanes, 8, kTiles>(args, tile, weights, panel);
        }
    }
  }
}

// Widens the 32 columns of one group of a tile: out[column][16].
template <typename Lanes, WeightFormat kFormat>
inline void WidenGroup(const uint8_t* group, float* out) {
  const Lanes scale = Lanes::LoadF16(group + ScaleOffset(kFormat));
  const Lanes minimum = kFormat == WeightFormat::kQ4_1
                            ? Lanes::LoadF16(group + MinimumOffset(kFormat))
                            : Lanes::Zero();
  const auto widen = [&](Lanes q) {
    return kFormat == WeightFormat::kQ4_1 ? Lanes::Fma(q, scale, minimum) : Lanes::Mul(q, scale);
  };
  if constexpr (kFormat == WeightFormat::kQ8_0) {
    for (int quad = 0; quad < 8; ++quad) {
      for (int i = 0; i < 4; ++i) {
        widen(Lanes::SignedByte(group + quad * 4 * kTile, i)).Store(out + (quad * 4 + i) * kTile);
      }
    }
  } else {
    constexpr int kOffset = kFormat == WeightFormat::kQ4_0 ? 8 : 0;
    for (int quad = 0; quad < 4; ++quad) {
      for (int i = 0; i < 4; ++i) {
        const uint8_t* bytes = group + quad * 4 * kTile;
        const int column = quad * 4 + i;
        widen(Lanes::Nibble(bytes, 8 * i, kOffset)).Store(out + column * kTile);
        widen(Lanes::Nibble(bytes, 8 * i + 4, kOffset)).Store(out + (column + 16) * kTile);
      }
    }
  }
}

// A tile as float32 [column][16]: in place, or widened into `scratch` (cols * 16 floats).
template <typename Lanes, WeightFormat kFormat>
inline const float* WidenTile(const uint8_t* tile, int64_t cols, float* scratch) {
  if constexpr (kFormat == WeightFormat::kF32) {
    return reinterpret_cast<const float*>(tile);
  } else if constexpr (kFormat == WeightFormat::kF16) {
    for (int64_t k = 0; k < cols; ++k) {
      Lanes::LoadF16(tile + k * 2 * kTile).Store(scratch + k * kTile);
    }
  } else if constexpr (kFormat == WeightFormat::kBF16) {
    for (int64_t k = 0; k < cols; ++k) {
      Lanes::LoadBf16(tile + k * 2 * kTile).Store(scratch + k * kTile);
    }
  } else {
    for (int64_t k = 0; k < cols; k += kGroup) {
      WidenGroup<Lanes, kFormat>(tile + k / kGroup * TileStepBytes(kFormat), scratch + k * kTile);
    }
  }
  return scratch;
}

// Kernel: any format times float32 activations, two tiles at a time.
template <typename Lanes, WeightFormat kFormat>
void MatMulFloat32(const MatMulArgs& args) {
  float* scratch = reinterpret_cast<float*>(args.scratch);
  int64_t tile = args.first_tile;
  for (; tile + 2 <= args.end_tile; tile += 2) {
    const uint8_t* bytes = args.tiles + tile * args.tile_bytes;
    const float* const weights[2] = {
        WidenTile<Lanes, kFormat>(bytes, args.cols, scratch),
        WidenTile<Lanes, kFormat>(bytes + args.tile_bytes, args.cols, scratch + args.cols * kTile)};
    Float32Panels<Lanes, 2>(args, tile, weights);
  }
  if (tile < args.end_tile) {
    const float* const weights[1] = {
        WidenTile<Lanes, kFormat>(args.tiles + tile * args.tile_bytes, args.cols, scratch)};
    Float32Panels<Lanes, 1>(args, tile, weights);
  }
}

}  // namespace shoal::kernels::cpu
