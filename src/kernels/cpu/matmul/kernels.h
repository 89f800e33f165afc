// SPDX-License-Identifier: Apache-2.0
// The matmul kernels of every instruction set behind plain function pointers and plain arguments.
//
// The bits (cpu/portable/ is the executable definition; all variants give the same):
//   int8 activations: per row and group of 32 (q6_k: 16), see QuantiseRowFn. isum is the exact
//   integer dot product of a group. Per output and leaf, from acc = +0, groups ascending:
//     t = fma(float(isum), d, +0); acc = fma(t, scale, acc);
//     q4_1 and q5_1 also: acc = fma(minimum, scaled_sum, acc)
//   float32 activations: per output and leaf, from acc = +0, columns ascending:
//     acc = fma(weight, x, acc), where weight is widened exactly (f16, bf16), or fma(q, d, +0)
//     (q8_0, q4_0, q5_0, q6_k), or fma(q, d, minimum) (q4_1, q5_1)
//   q4_k is multiplied as q4_1 and q5_k as q5_1: StoredFormat, block_group.h.
//   Then sum = tree of the leaves (a range of n is split at ceil(n / 2)); value = sum, or
//   sum + bias; the result is value, or residual + value.
#pragma once

#include <cstdint>

#include "kernels/cpu/matmul/layout.h"
#include "kernels/weights.h"

namespace shoal::kernels::cpu {

// Columns of one leaf and how many times, after it, the two topmost sums of the stack are added.
struct LeafStep {
  int64_t begin = 0;
  int64_t end = 0;
  int64_t merges = 0;
};
// Sums that wait at once: enough for 2^15 leaves.
inline constexpr int64_t kMaxLeafStack = 16;
inline constexpr int64_t kMaxLeaves = int64_t{1} << (kMaxLeafStack - 1);

// Rows [first_row, first_row + rows) of a batch in the layout of layout.h.
struct Panel {
  const uint8_t* data = nullptr;
  int64_t first_row = 0;
  int64_t rows = 0;  // 1 <= rows <= height
  int64_t height = 0;
};

// Tiles [first_tile, end_tile) of one prepared part times all panels.
struct MatMulArgs {
  const uint8_t* tiles = nullptr;  // of the whole part
  int64_t tile_bytes = 0;
  int64_t first_tile = 0;
  int64_t end_tile = 0;
  int64_t outputs = 0;  // of the part; outputs past it are padding
  int64_t cols = 0;
  const LeafStep* leaves = nullptr;
  int64_t leaf_count = 0;
  const Panel* panels = nullptr;
  int64_t panel_count = 0;
  float* out = nullptr;  // row 0, first output of the part
  int64_t out_stride = 0;
  const float* bias = nullptr;  // padded to whole tiles; null: none
  bool accumulate = false;      // add to out instead of replacing it
  uint8_t* scratch = nullptr;   // MatMulScratchBytes, 64-byte aligned
};

// Scratch a kernel may use.
constexpr int64_t MatMulScratchBytes(int64_t cols, int64_t leaf_count) {
  return cols * 16 * 2 * static_cast<int64_t>(sizeof(float)) + 4 * leaf_count + 16384;
}

// `format` of the weights is bound by the table entry.
using MatMulKernel = void (*)(const MatMulArgs& args);

// Quantises `groups` * 32 (or 16) values of a row into row `row` of a panel:
//   amax = largest |x| (by bits); scale = amax / 127; inverse = scale > 0 ? 1 / scale : 0;
//   q = x * inverse rounded to the nearest even integer; scaled_sum = scale * float(sum of q).
// A group with an infinity or a NaN has q = 0 and a scale of NaN, so that all its outputs are NaN.
using QuantiseRowFn = void (*)(const float* x, int64_t groups, int64_t height, int64_t row,
                               uint8_t* panel);

// Kernels by WeightFormat. Null entries: the combination does not exist (int8 activations need a
// block format).
using MatMulTable = MatMulKernel[kTileFormats];

struct MatMulKernels {
  const MatMulTable& int8;
  const MatMulTable& float32;
  QuantiseRowFn quantise_row;     // groups of 32
  QuantiseRowFn quantise_row_16;  // groups of 16
  int64_t int8_height;            // largest panel of `int8`; powers of two up to it are accepted
  int64_t float32_height;         // the same for `float32`
};

namespace portable {
extern const MatMulKernels kMatMulKernels;
extern const MatMulTable kFloat32Kernels;
}  // namespace portable
namespace avx2 {
extern const MatMulKernels kMatMulKernels;
extern const MatMulTable kFloat32Kernels;
}  // namespace avx2
namespace avx512 {
extern const MatMulKernels kMatMulKernels;
extern const MatMulTable kFloat32Kernels;
}  // namespace avx512
namespace amx {
// Panels of kAmxHeight rows, int8 activations only; everything else runs on avx512.
extern const MatMulTable kMatMulKernels;
}  // namespace amx
inline constexpr int64_t kAmxHeight = 16;

}  // namespace shoal::kernels::cpu
