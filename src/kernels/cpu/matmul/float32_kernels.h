// SPDX-License-Identifier: Apache-2.0
// Weights of any format times float32 activations, over a class `Lanes` of 16 floats (see
// lane_kernels.h). Few rows take each weight straight from its stored form into the sums; more rows
// share weights widened into L1.
#pragma once

#include <cstdint>

#include "kernels/cpu/matmul/lane_kernels.h"

namespace shoal::kernels::cpu {

// What the columns of one group share.
template <typename Lanes>
struct GroupFactors {
  Lanes scale;
  Lanes minimum;
};

template <typename Lanes, WeightFormat kFormat>
inline GroupFactors<Lanes> LoadFactors(const uint8_t* group) {
  if constexpr (!IsBlockFormat(kFormat)) return {Lanes::Zero(), Lanes::Zero()};
  const Lanes scale = Lanes::LoadF16(group + ScaleOffset(kFormat));
  if constexpr (!HasMinimum(kFormat)) return {scale, Lanes::Zero()};
  return {scale, Lanes::LoadF16(group + MinimumOffset(kFormat))};
}

// The 16 weights of one column of a format without blocks.
template <typename Lanes, WeightFormat kFormat>
inline Lanes PlainWeights(const uint8_t* column) {
  if constexpr (kFormat == WeightFormat::kF32) {
    return Lanes::Load(reinterpret_cast<const float*>(column));
  } else if constexpr (kFormat == WeightFormat::kF16) {
    return Lanes::LoadF16(column);
  } else {
    return Lanes::LoadBf16(column);
  }
}

// The 16 weights of column i of a quad of a block format.
template <typename Lanes, WeightFormat kFormat>
inline Lanes BlockWeights(typename Lanes::Bytes quad, int i, const GroupFactors<Lanes>& factors) {
  constexpr bool kSigned = kFormat == WeightFormat::kQ8_0;
  if constexpr (HasMinimum(kFormat)) {
    return Lanes::Fma(Lanes::template FromByte<kSigned, 0>(quad, i), factors.scale,
                      factors.minimum);
  } else {
    return Lanes::template ScaledByte<kSigned, QuantOffset(kFormat)>(quad, i, factors.scale);
  }
}

// Calls add(column, tile, weights) for the columns of one step in order, for each the tiles in
// order; the tiles are `stride` bytes apart.
template <typename Lanes, WeightFormat kFormat, int kTiles, typename Add>
__attribute__((always_inline)) inline void ForStepWeights(const uint8_t* step, int64_t stride,
                                                          Add add) {
  if constexpr (!IsBlockFormat(kFormat)) {
#pragma GCC unroll 4
    for (int t = 0; t < kTiles; ++t) add(0, t, PlainWeights<Lanes, kFormat>(step + t * stride));
    return;
  } else {
    constexpr int kQuads = StepColumns(kFormat) / 4;
    GroupFactors<Lanes> factors[kTiles];
#pragma GCC unroll 4
    for (int t = 0; t < kTiles; ++t) factors[t] = LoadFactors<Lanes, kFormat>(step + t * stride);
#pragma GCC unroll 8
    for (int quad = 0; quad < kQuads; ++quad) {
      typename Lanes::Bytes bytes[kTiles];
#pragma GCC unroll 4
      for (int t = 0; t < kTiles; ++t) {
        bytes[t] = Lanes::template LoadQuad<kFormat>(step + t * stride, quad);
      }
#pragma GCC unroll 4
      for (int i = 0; i < 4; ++i) {
#pragma GCC unroll 4
        for (int t = 0; t < kTiles; ++t) {
          add(quad * 4 + i, t, BlockWeights<Lanes, kFormat>(bytes[t], i, factors[t]));
        }
      }
    }
  }
}

// kHeight rows (a panel of that height) times kTiles tiles, `stride` bytes apart, each weight used
// once: nothing but the stored weights is read from memory.
template <typename Lanes, WeightFormat kFormat, int kHeight, int kTiles>
inline void StreamTiles(const MatMulArgs& args, int64_t tile, const Panel& panel) {
  constexpr int kColumns = StepColumns(kFormat);
  constexpr int kSums = kHeight * kTiles;
  const uint8_t* weights = args.tiles + tile * args.tile_bytes;
  const float* inputs = reinterpret_cast<const float*>(panel.data);
  LeafStack<Lanes, kSums> stack;
  Lanes acc[kSums] = {};
  for (int64_t i = 0; i < args.leaf_count; ++i) {
    const LeafStep leaf = args.leaves[i];
#pragma GCC unroll 16
    for (int a = 0; a < kSums; ++a) acc[a] = Lanes::Zero();
    for (int64_t k = leaf.begin; k < leaf.end; k += kColumns) {
      for (int t = 0; t < kTiles; ++t) {
        const uint8_t* ahead = weights + t * args.tile_bytes + kStreamPrefetchBytes;
        for (int64_t b = 0; b < TileStepBytes(kFormat); b += 64) __builtin_prefetch(ahead + b);
      }
      ForStepWeights<Lanes, kFormat, kTiles>(
          weights,
          args.tile_bytes, [&](int column, int t, Lanes weight) __attribute__((always_inline)) {
#pragma GCC unroll 2
            for (int r = 0; r < kHeight; ++r) {
              const Lanes x = Lanes::Broadcast(inputs[column * kHeight + r]);
              acc[r * kTiles + t] = Lanes::Fma(weight, x, acc[r * kTiles + t]);
            }
          });
      weights += TileStepBytes(kFormat);
      inputs += kColumns * kHeight;
    }
    stack.Push(leaf, acc);
  }
#pragma GCC unroll 2
  for (int r = 0; r < kHeight; ++r) {
    if (r >= panel.rows) return;
#pragma GCC unroll 4
    for (int t = 0; t < kTiles; ++t) {
      EmitTile(args, panel.first_row + r, tile + t, acc[r * kTiles + t]);
    }
  }
}

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

// A tile as float32 [column][16]: in place, or widened into `scratch` (cols * 16 floats).
template <typename Lanes, WeightFormat kFormat>
inline const float* WidenTile(const uint8_t* tile, int64_t cols, float* scratch) {
  constexpr int kColumns = StepColumns(kFormat);
  if constexpr (kFormat == WeightFormat::kF32) return reinterpret_cast<const float*>(tile);
  float* out = scratch;
  for (int64_t k = 0; k < cols; k += kColumns, tile += TileStepBytes(kFormat)) {
    ForStepWeights<Lanes, kFormat, 1>(
        tile, 0, [&](int column, int, Lanes weight) __attribute__((always_inline)) {
          weight.Store(out + column * kTile);
        });
    out += kColumns * kTile;
  }
  return scratch;
}

template <typename Lanes, WeightFormat kFormat, int kHeight>
void StreamAllTiles(const MatMulArgs& args, const Panel& panel) {
  int64_t tile = args.first_tile;
  for (; tile + 4 <= args.end_tile; tile += 4) {
    StreamTiles<Lanes, kFormat, kHeight, 4>(args, tile, panel);
  }
  for (; tile < args.end_tile; ++tile) StreamTiles<Lanes, kFormat, kHeight, 1>(args, tile, panel);
}

// Kernel: any format times float32 activations.
template <typename Lanes, WeightFormat kFormat>
void MatMulFloat32(const MatMulArgs& args) {
  const Panel& panel = args.panels[0];
  if (args.panel_count == 1 && panel.height == 1) {
    return StreamAllTiles<Lanes, kFormat, 1>(args, panel);
  }
  if (args.panel_count == 1 && panel.height == 2) {
    return StreamAllTiles<Lanes, kFormat, 2>(args, panel);
  }
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
