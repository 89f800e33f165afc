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

}  // namespace shoal::kernels::cpu
