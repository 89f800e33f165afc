// SPDX-License-Identifier: Apache-2.0
// Passes over a row of logits, over a vector type; the definitions are in op_kernels.h.
#pragma once

#include <cstdint>

#include "kernels/cpu/ops/elementwise_inl.h"
#include "kernels/cpu/ops/op_kernels.h"

namespace shoal::kernels::cpu {

template <class V>
void CleanLogitsKernel(const float* logits, int64_t n, float* clean, float* block_max) {
  const V zero = V::Set(0.0F);
  const V largest = V::Set(3.40282346638528859812e+38F);
  const V lowest = V::Set(-__builtin_inff());
  for (int64_t begin = 0; begin < n; begin += kMaxBlock) {
    const int64_t length = n - begin < kMaxBlock ? n - begin : kMaxBlock;
    V highest = lowest;
    ForVectors(length, [&](int64_t i, int count) {
      const V raw = LoadUpTo<V>(logits + begin + i, count);
      // Adding +0 turns -0 (and a flushed denormal) into +0. Min would hide a NaN: it comes after.
      const V value = Min(ReplaceNan(Add(raw, zero), lowest), largest);
      StoreUpTo(value, clean + begin + i, count);
      highest = Max(highest, count == 16 ? value : SelectRange(value, 0, count, lowest));
    });
    block_max[begin / kMaxBlock] = ReduceMax(highest);
  }
}

template <class V>
void ExpSumsKernel(const float* x, int64_t n, float maximum, float factor, float* weights,
                   float* sums) {
  const V top = V::Set(maximum);
  const V scale = V::Set(factor);
  const V zero = V::Set(0.0F);
  for (int64_t begin = 0; begin < n; begin += kSumChunk) {
    const int64_t length = n - begin < kSumChunk ? n - begin : kSumChunk;
    V sum = zero;
    ForVectors(length, [&](int64_t i, int count) {
      const V value = LoadUpTo<V>(x + begin + i, count);
      V weight = ExpNonPositive(Mul(Sub(value, top), scale));
      if (count != 16) weight = SelectRange(weight, 0, count, zero);
      if (weights != nullptr) StoreUpTo(weight, weights + begin + i, count);
      sum = Add(sum, weight);
    });
    sums[begin / kSumChunk] = ReduceAdd(sum);
  }
}

}  // namespace shoal::kernels::cpu
