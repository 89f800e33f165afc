// SPDX-License-Identifier: Apache-2.0
// What the two halves of the portable matmul share: readers of the prepared layout, the tree of
// leaves and the end of an output.
#pragma once

#include <cstdint>
#include <cstring>

#include "kernels/cpu/matmul/kernels.h"
#include "kernels/cpu/matmul/layout.h"

namespace shoal::kernels::cpu::portable {

template <typename T>
T Load(const uint8_t* bytes) {
  T value;
  std::memcpy(&value, bytes, sizeof(T));
  return value;
}

template <typename T>
void Store(uint8_t* bytes, T value) {
  std::memcpy(bytes, &value, sizeof(T));
}

// Integer of column k of a group of output `lane` of a tile, less QuantOffset.
int WeightInt(WeightFormat format, const uint8_t* group, int64_t lane, int64_t k);
float WeightScale(WeightFormat format, const uint8_t* group, int64_t lane);
float WeightMinimum(WeightFormat format, const uint8_t* group, int64_t lane);

// Sum of `count` leaves: the sums of the first ceil(count / 2) and of the rest, added.
float TreeSum(const float* sums, int64_t count);

// Adds the bias and writes or accumulates one result.
void Emit(const MatMulArgs& args, int64_t row, int64_t output, float sum);

// Calls body(tile, lane, output) for every output that is no padding.
template <typename Body>
void ForEachOutput(const MatMulArgs& args, Body body) {
  for (int64_t t = args.first_tile; t < args.end_tile; ++t) {
    for (int64_t lane = 0; lane < kTile && t * kTile + lane < args.outputs; ++lane) {
      body(args.tiles + t * args.tile_bytes, lane, t * kTile + lane);
    }
  }
}

}  // namespace shoal::kernels::cpu::portable
