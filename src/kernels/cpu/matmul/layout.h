// SPDX-License-Identifier: Apache-2.0
// Where the bytes of prepared weights and of quantised activations lie. Constants and trivial
// arithmetic only: files built for one instruction set include this.
//
// Weights: [tile of 16 outputs][K]. One tile is one contiguous stream, the last one is padded with
// zero outputs. A quad is four columns of 16 outputs: [16 outputs][4 columns].
//   f32, f16, bf16   [column][16 outputs]
//   block formats    [group of 32 columns, q6_k: 16], each
//     q8_0   512 B   [8 quads] int8
//     q4_x   256 B   [4 quads] nibbles: low = quad j, high = quad j + 4
//     q5_x   256 B   [4 quads] nibbles as q4_x
//             64 B   [8 quads] fifth bits: 64 bits in the order of the quad's 64 values
//     q6_k   128 B   [2 quads] nibbles: low = quad j, high = quad j + 2
//             64 B   [16 outputs][4 columns] upper bits: bits 2j, 2j + 1 = quad j
//            32 B    16 f16 scales
//     qx_1   32 B    16 f16 minima
//
// Activations: panels of `height` rows, the rows past the batch are zero.
//   float32      [column][height]; a panel of height 1 is the row itself
//   int8         [group of 32 columns], each `height` times 48 B:
//     q[height][32] int8, scale[height] f32, scaled_sum[height] f32, start8[height] i32,
//     start128[height] i32
//   int8 by 16   [group of 16 columns], each `height` times 24 B:
//     q[height][16] int8, scale[height] f32, start32[height] i32
#pragma once

#include <cstdint>

#include "kernels/weights.h"

namespace shoal::kernels::cpu {

inline constexpr int kTile = 16;

// The formats that tiles come in: a file's format, or what StoredFormat makes of it.
inline constexpr int kTileFormats = 9;

constexpr bool IsBlockFormat(WeightFormat format) {
  return format != WeightFormat::kF32 && format != WeightFormat::kF16 &&
         format != WeightFormat::kBF16;
}

// Columns of one step of a tile: a group, or a single column.
constexpr int StepColumns(WeightFormat format) {
  if (!IsBlockFormat(format)) return 1;
  return format == WeightFormat::kQ6_K ? 16 : 32;
}

// What is subtracted from the stored integers.
constexpr int QuantOffset(WeightFormat format) {
  switch (format) {
    case WeightFormat::kQ4_0:
      return 8;
    case WeightFormat::kQ5_0:
      return 16;
    case WeightFormat::kQ6_K:
      return 32;
    default:
      return 0;
  }
}

constexpr bool HasMinimum(WeightFormat format) {
  return format == WeightFormat::kQ4_1 || format == WeightFormat::kQ5_1 ||
         format == WeightFormat::kQ4_K || format == WeightFormat::kQ5_K;
}

// 1.5 * 2^23 as a float has these bits; adding an integer below 2^22 in magnitude to the bits adds
// it to the value. So an integer dot product that starts here is a float without a conversion, and
// fma(that, d, -1.5 * 2^23 * d) is fma(float(isum), d, +0) exactly (d has at most 11 bits).
inline constexpr int32_t kMagicBits = 0x4B400000;
inline constexpr float kMagicFloat = 12582912.0f;

// How far kernels that stream weights once read ahead in a tile.
inline constexpr int kStreamPrefetchBytes = 2048;

// Whether the upper bits of the integers lie apart.
constexpr bool HasUpperBits(WeightFormat format) {
  return format == WeightFormat::kQ5_0 || format == WeightFormat::kQ5_1 ||
         format == WeightFormat::kQ6_K;
}

// Offset of the fifth bits (q5_x) or upper bits (q6_k) in a group.
constexpr int64_t UpperBitsOffset(WeightFormat format) {
  return format == WeightFormat::kQ6_K ? 128 : 256;
}

// Offset of the group's scales: the bytes of its integers.
constexpr int64_t ScaleOffset(WeightFormat format) {
  switch (format) {
    case WeightFormat::kQ8_0:
      return 512;
    case WeightFormat::kQ5_0:
    case WeightFormat::kQ5_1:
      return 256 + 64;
    case WeightFormat::kQ6_K:
      return 128 + 64;
    default:
      return 256;
  }
}
constexpr int64_t MinimumOffset(WeightFormat format) { return ScaleOffset(format) + 2 * kTile; }

// Bytes of one step of a tile.
constexpr int64_t TileStepBytes(WeightFormat format) {
  switch (format) {
    case WeightFormat::kF32:
      return 4 * kTile;
    case WeightFormat::kF16:
    case WeightFormat::kBF16:
      return 2 * kTile;
    case WeightFormat::kQ4_1:
    case WeightFormat::kQ5_1:
      return ScaleOffset(format) + 4 * kTile;
    default:
      return ScaleOffset(format) + 2 * kTile;
  }
}

// Bytes and offsets of one group of `columns` (32 or 16) of an int8 panel.
constexpr int64_t PanelGroupBytes(int64_t columns, int64_t height) {
  return (columns + columns / 2) * height;
}
constexpr int64_t PanelScaleOffset(int64_t columns, int64_t height) { return columns * height; }
// scale * float(sum of q): multiplies the minimum. 32 columns only.
constexpr int64_t PanelScaledSumOffset(int64_t height) { return 36 * height; }
// kMagicBits - 8 * sum of q: where a dot product over nibbles with an offset of 8 starts.
constexpr int64_t PanelStart8Offset(int64_t height) { return 40 * height; }
// kMagicBits - 128 * sum of q: the same for int8 weights read as unsigned bytes.
constexpr int64_t PanelStart128Offset(int64_t height) { return 44 * height; }
// kMagicBits - 32 * sum of q, of a group of 16.
constexpr int64_t PanelStart32Offset(int64_t height) { return 20 * height; }

}  // namespace shoal::kernels::cpu
