// SPDX-License-Identifier: Apache-2.0
// Weights of any format times float32 activations, over a class `Lanes` of 16 floats (see
// lane_kernels.h). Few rows take each weight straight from its stored form into the sums; more rows
// share weights widened into L1.
#pragma once

#include <cstdint>

#include "kernels/cpu/matmul/lane_kernels.h"

namespace shoal::kernels::cpu {

// Columns that share one step of a tile (TileStepBytes).
template <WeightFormat kFormat>
constexpr int kStepColumns = IsBlockFormat(kFormat) ? kGroup : 1;

// What the columns of one group share.
template <typename Lanes>
struct GroupFactors {
  Lanes scale;
  Lanes minimum;
};

template <typename Lanes, WeightFormat kFormat>
inline GroupFactors<Lanes> LoadFactors(const uint8_t* group) {
  if constexpr (!IsBlockFormat(kFormat)) {
    return {Lanes::Zero(), Lanes::Zero()};
  } else if constexpr (kFormat == WeightFormat::kQ4_1) {
    return {Lanes::LoadF16(group + ScaleOffset(kFormat)),
            Lanes::LoadF16(group + MinimumOffset(kFormat))};
  } else {
    return {Lanes::LoadF16(group + ScaleOffset(kFormat)), Lanes::Zero()};
  }
}

// The 16 weights of one column of a step.
template <typename Lanes, WeightFormat kFormat>
inline Lanes WeightAt(const uint8_t* step, int column, const GroupFactors<Lanes>& factors) {
  if constexpr (kFormat == WeightFormat::kF32) {
    return Lanes::Load(reinterpret_cast<const float*>(step));
  } else if constexpr (kFormat == WeightFormat::kF16) {
    return Lanes::LoadF16(step);
  } else if constexpr (kFormat == WeightFormat::kBF16) {
    return Lanes::LoadBf16(step);
  } else if constexpr (kFormat == WeightFormat::kQ8_0) {
    return Lanes::ScaledByte(step + column / 4 * 4 * kTile, column % 4, factors.scale);
  } else {
    const uint8_t* bytes = step + column % 16 / 4 * 4 * kTile;
    if constexpr (kFormat == WeightFormat::kQ4_0) {
      return Lanes::template ScaledNibble<8>(bytes, column % 4, column >= 16, factors.scale);
    } else {
      return Lanes::Fma(Lanes::Nibble(bytes, column % 4, column >= 16), factors.scale,
                        factors.minimum);
    }
  }
}

// kHeight rows (a panel of that height) times kTiles tiles, `stride` bytes apart, each weight used
// once: nothing but the stored weights is read from memory.
template <typename Lanes, WeightFormat kFormat, int kHeight, int kTiles>
inline void StreamTiles(const MatMulArgs& args, int64_t tile, const Panel& panel) {
  constexpr int kColumns = kStepColumns<kFormat>;
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
      GroupFactors<Lanes> factors[kTiles];
#pragma GCC unroll 4
      for (int t = 0; t < kTiles; ++t) {
        const uint8_t* step = weights + t * args.tile_bytes;
        for (int64_t line = 0; line < TileStepBytes(kFormat); line += 64) {
          __builtin_prefetch(step + kStreamPrefetchBytes + line);
        }
        factors[t] = LoadFactors<Lanes, kFormat>(step);
      }
#pragma GCC unroll 32
      for (int column = 0; column < kColumns; ++column) {
#pragma GCC unroll 4
        for (int t = 0; t < kTiles; ++t) {
          const Lanes weight =
              WeightAt<Lanes, kFormat>(weights + t * args.tile_bytes, column, factors[t]);
#pragma GCC unroll 2
          for (int r = 0; r < kHeight; ++r) {
            const Lanes x = Lanes::Broadcast(inputs[column * kHeight + r]);
            acc[r * kTiles + t] = Lanes::Fma(weight, x, acc[r * kTiles + t]);
          }
        }
      }
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
  constexpr int kColumns = kStepColumns<kFormat>;
  if constexpr (kFormat == WeightFormat::kF32) return reinterpret_cast<const float*>(tile);
  float* out = scratch;
  for (int64_t k = 0; k < cols; k += kColumns, tile += TileStepBytes(kFormat)) {
    const GroupFactors<Lanes> factors = LoadFactors<Lanes, kFormat>(tile);
#pragma GCC unroll 32
    for (int column = 0; column < kColumns; ++column, out += kTile) {
      WeightAt<Lanes, kFormat>(tile, column, factors).Store(out);
    }
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
