// SPDX-License-Identifier: Apache-2.0
// Where the bytes of prepared weights and of quantised activations lie. Constants and trivial
// arithmetic only: files built for one instruction set include this.
//
// Weights: [tile of 16 outputs][K]. One tile is one contiguous stream, the last one is padded with
// zero outputs.
//   f32, f16, bf16   [column][16 outputs]
//   block formats    [group of 32 columns], each
//     q8_0   512 B   [8 quads][16 outputs][4 columns] int8
//     q4_x   256 B   [4 quads][16 outputs][4 columns] nibbles: low = column, high = column + 16
//            32 B    16 f16 scales
//     q4_1   32 B    16 f16 minima
//
// Activations: panels of `height` rows, the rows past the batch are zero.
//   float32   [column][height]; a panel of height 1 is the row itself
//   int8      [group of 32 columns], each `height` times 48 B:
//     q[height][32] int8, scale[height] f32, scaled_sum[height] f32, start8[height] i32,
//     start128[height] i32
#pragma once

#include <cstdint>

#include "kernels/weights.h"

namespace shoal::kernels::cpu {

inline constexpr int kTile = 16;
inline constexpr int kGroup = 32;

// 1.5 * 2^23 as a float has these bits; adding an integer below 2^22 in magnitude to the bits adds
// it to the value. So an integer dot product that starts here is a float without a conversion, and
// fma(that, d, -1.5 * 2^23 * d) is fma(float(isum), d, +0) exactly (d has at most 11 bits).
inline constexpr int32_t kMagicBits = 0x4B400000;
inline constexpr float kMagicFloat = 12582912.0f;

constexpr bool IsBlockFormat(WeightFormat format) {
  return format == WeightFormat::kQ8_0 || format == WeightFormat::kQ4_0 ||
         format == WeightFormat::kQ4_1;
}

// How far kernels that stream weights once read ahead in a tile.
inline constexpr int kStreamPrefetchBytes = 2048;

// Bytes of the integers of one group of a tile.
constexpr int64_t QuantBytes(WeightFormat format) {
  return format == WeightFormat::kQ8_0 ? kGroup * kTile : kGroup * kTile / 2;
}

// Bytes of one group (block formats) or one column (the others) of a tile.
constexpr int64_t TileStepBytes(WeightFormat format) {
  switch (format) {
    case WeightFormat::kF32:
      return 4 * kTile;
    case WeightFormat::kF16:
    case WeightFormat::kBF16:
      return 2 * kTile;
    case WeightFormat::kQ8_0:
    case WeightFormat::kQ4_0:
      return QuantBytes(format) + 2 * kTile;
    case WeightFormat::kQ4_1:
      return QuantBytes(format) + 4 * kTile;
  }
  return 0;
}

// Offset of the group's scales and minima.
constexpr int64_t ScaleOffset(WeightFormat format) { return QuantBytes(format); }
constexpr int64_t MinimumOffset(WeightFormat format) { return QuantBytes(format) + 2 * kTile; }

// Offsets inside one group of an int8 panel.
constexpr int64_t PanelGroupBytes(int64_t height) { return 48 * height; }
constexpr int64_t PanelScaleOffset(int64_t height) { return 32 * height; }
// scale * float(sum of q): multiplies the minimum.
constexpr int64_t PanelScaledSumOffset(int64_t height) { return 36 * height; }
// kMagicBits - 8 * sum of q: where a dot product over nibbles with an offset of 8 starts.
constexpr int64_t PanelStart8Offset(int64_t height) { return 40 * height; }
// kMagicBits - 128 * sum of q: the same for int8 weights read as unsigned bytes.
constexpr int64_t PanelStart128Offset(int64_t height) { return 44 * height; }

}  // namespace shoal::kernels::cpu
