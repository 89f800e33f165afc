// SPDX-License-Identifier: Apache-2.0
// Attention over one tile of keys and values, over a vector type; the definitions are in
// op_kernels.h. Both products (q.k and p.v) are one register-blocked routine: rows x vectors of
// accumulators that stay in registers over the whole sum, one broadcast a row and one load a
// vector.
#pragma once

#include <cstdint>

#include "kernels/cpu/ops/elementwise_inl.h"
#include "kernels/cpu/ops/op_kernels.h"

namespace shoal::kernels::cpu {

inline constexpr int kLaneSumOffset = 16;
inline constexpr float kMinusInfinity = -__builtin_inff();

template <class V>
void ToHalfKernel(const float* x, int64_t n, uint16_t* out) {
  ForVectors(
      n, [&](int64_t i, int count) { LoadUpTo<V>(x + i, count).StoreHalfMasked(out + i, count); });
}

// Element `index` of a span that holds float16 or float32, `count` lanes.
template <class V>
inline V LoadCached(const void* span, bool half, int64_t index, int count) {
  if (!half) return LoadUpTo<V>(static_cast<const float*>(span) + index, count);
  const uint16_t* p = static_cast<const uint16_t*>(span) + index;
  return count == 16 ? V::LoadHalf(p) : V::LoadHalfMasked(p, count);
}

// A span of keys in which every slot counts, `block_tokens` a multiple of 16.
template <class V>
inline void LoadWholeKeys(const void* span, bool half, int64_t head_dim, int block_tokens,
                          float* tile) {
  for (int slot = 0; slot < block_tokens; slot += 16) {
    float* out = tile + slot;
    if (half) {
      const uint16_t* keys = static_cast<const uint16_t*>(span) + slot;
      for (int64_t d = 0; d < head_dim; ++d, keys += block_tokens, out += kTileTokens) {
        V::LoadHalf(keys).Store(out);
      }
    } else {
      const float* keys = static_cast<const float*>(span) + slot;
      for (int64_t d = 0; d < head_dim; ++d, keys += block_tokens, out += kTileTokens) {
        V::Load(keys).Store(out);
      }
    }
  }
}

template <class V>
void LoadKeysKernel(const void* span, bool half, int64_t head_dim, int block_tokens, int valid,
                    float* tile) {
  if (valid == block_tokens && block_tokens % 16 == 0) {
    return LoadWholeKeys<V>(span, half, head_dim, block_tokens, tile);
  }
  for (int64_t d = 0; d < head_dim; ++d) {
    float* out = tile + d * kTileTokens;
    for (int slot = 0; slot < block_tokens; slot += 16) {
      const int width = block_tokens - slot < 16 ? block_tokens - slot : 16;
      int count = valid - slot;
      count = count < 0 ? 0 : (count > width ? width : count);
      StoreUpTo(LoadCached<V>(span, half, d * block_tokens + slot, count), out + slot, width);
    }
  }
}

template <class V>
void LoadValuesKernel(const void* span, bool half, int64_t head_dim, int valid, float* tile) {
  const int64_t padded = PaddedDim(head_dim);
  for (int64_t slot = 0; slot < valid; ++slot) {
    ForVectors(head_dim, [&](int64_t d, int count) {
      LoadCached<V>(span, half, slot * head_dim + d, count).Store(tile + slot * padded + d);
    });
  }
}

template <class V>
inline void EmptySplit(int64_t padded_dim, float* state) {
  state[0] = kMinusInfinity;
  const V zero = V::Set(0.0F);
  zero.Store(state + kLaneSumOffset);
  for (int64_t i = 0; i < padded_dim; i += 16) zero.Store(state + kStateHeader + i);
}

template <class V>
void ResetStateKernel(int64_t padded_dim, float* state) {
  EmptySplit<V>(padded_dim, state);
  state[1] = kMinusInfinity;
  state[2] = 0;
  const V zero = V::Set(0.0F);
  for (int64_t i = 0; i < padded_dim; i += 16) zero.Store(state + kStateHeader + padded_dim + i);
}

// c[r][0 .. 16 kVectors) = fma over k in [begin, end) ascending of a[r][k] * b[k][...], from c, or
// from 0 if kFromZero.
template <class V, int kRows, int kVectors, bool kFromZero>
inline void Product(const float* const* a, int64_t begin, int64_t end, const float* b,
                    int64_t b_stride, float* const* c) {
  V sum[kRows][kVectors];
#pragma GCC unroll 8
  for (int r = 0; r < kRows; ++r) {
#pragma GCC unroll 4
    for (int j = 0; j < kVectors; ++j) {
      sum[r][j] = kFromZero ? V::Set(0.0F) : V::Load(c[r] + 16 * j);
    }
  }
  const float* a_row[kRows];
#pragma GCC unroll 8
  for (int r = 0; r < kRows; ++r) a_row[r] = a[r];
  for (int64_t k = begin; k < end; ++k) {
    V right[kVectors];
#pragma GCC unroll 4
    for (int j = 0; j < kVectors; ++j) right[j] = V::Load(b + k * b_stride + 16 * j);
#pragma GCC unroll 8
    for (int r = 0; r < kRows; ++r) {
      const V left = V::Set(a_row[r][k]);
#pragma GCC unroll 4
      for (int j = 0; j < kVectors; ++j) sum[r][j] = Fma(left, right[j], sum[r][j]);
    }
  }
#pragma GCC unroll 8
  for (int r = 0; r < kRows; ++r) {
#pragma GCC unroll 4
    for (int j = 0; j < kVectors; ++j) sum[r][j].Store(c[r] + 16 * j);
  }
}

template <class V, int kVectors, bool kFromZero>
inline void ProductOfRows(int rows, const float* const* a, int64_t begin, int64_t end,
                          const float* b, int64_t b_stride, float* const* c) {
  static_assert(kAttendRows == 6 && V::kBlockRows == 6);
  switch (rows) {
    case 1:
      return Product<V, 1, kVectors, kFromZero>(a, begin, end, b, b_stride, c);
    case 2:
      return Product<V, 2, kVectors, kFromZero>(a, begin, end, b, b_stride, c);
    case 3:
      return Product<V, 3, kVectors, kFromZero>(a, begin, end, b, b_stride, c);
    case 4:
      return Product<V, 4, kVectors, kFromZero>(a, begin, end, b, b_stride, c);
    case 5:
      return Product<V, 5, kVectors, kFromZero>(a, begin, end, b, b_stride, c);
    default:
      return Product<V, 6, kVectors, kFromZero>(a, begin, end, b, b_stride, c);
  }
}

// All columns (a multiple of 16) in register blocks.
template <class V, bool kFromZero>
inline void ProductOfColumns(int rows, const float* const* a, int64_t begin, int64_t end,
                             const float* b, int64_t columns, float* const* c) {
  constexpr int kWide = V::kBlockVectors;
  int64_t column = 0;
  float* out[kAttendRows];
  for (; column + 16 * kWide <= columns; column += 16 * kWide) {
    for (int r = 0; r < rows; ++r) out[r] = c[r] + column;
    ProductOfRows<V, kWide, kFromZero>(rows, a, begin, end, b + column, columns, out);
  }
  for (; column < columns; column += 16) {
    for (int r = 0; r < rows; ++r) out[r] = c[r] + column;
    ProductOfRows<V, 1, kFromZero>(rows, a, begin, end, b + column, columns, out);
  }
}

// The slots of a tile as numbers.
struct SlotNumbers {
  alignas(64) float value[kTileTokens];
  constexpr SlotNumbers() : value() {
    for (int i = 0; i < kTileTokens; ++i) value[i] = static_cast<float>(i);
  }
};
inline constexpr SlotNumbers kSlotNumbers;

// Scales, biases, caps and masks the scores of one row in place; the maximum of them and `maximum`.
template <class V>
inline float PrepareScores(const AttendTileArgs& args, int row, float maximum, float* scores) {
  const V scale = V::Set(args.scale);
  const V lowest = V::Set(kMinusInfinity);
  const int begin = args.begin[row];
  const int end = args.end[row];
  V highest = V::Set(maximum);
  for (int j = 0; j < kTileTokens; j += 16) {
    V score = Mul(V::Load(scores + j), scale);
    if (args.alibi) {
      const V distance = Add(V::Load(kSlotNumbers.value + j), V::Set(args.distance[row]));
      score = Fma(V::Set(args.slope[row]), distance, score);
    }
    if (args.softcap != 0) {
      const V cap = V::Set(args.softcap);
      score = Mul(cap, Tanh(Div(score, cap)));
    }
    if (begin > j || end < j + 16) {
      const int from = begin - j < 0 ? 0 : (begin - j > 16 ? 16 : begin - j);
      const int to = end - j < from ? from : (end - j > 16 ? 16 : end - j);
      score = SelectRange(score, from, to, lowest);
    }
    score.Store(scores + j);
    highest = Max(highest, score);
  }
  return ReduceMax(highest);
}

// Scores become weights; the row's lane sums and accumulator take the new maximum.
template <class V>
inline void Reweight(int64_t padded_dim, float maximum, float correction, float* scores,
                     float* state) {
  const V top = V::Set(maximum);
  const V factor = V::Set(correction);
  V sum = V::Load(state + kLaneSumOffset);
  for (int j = 0; j < kTileTokens; j += 16) {
    const V weight = ExpNonPositive(Sub(V::Load(scores + j), top));
    weight.Store(scores + j);
    sum = j == 0 ? Fma(sum, factor, weight) : Add(sum, weight);
  }
  sum.Store(state + kLaneSumOffset);
  state[0] = maximum;
  float* accumulator = state + kStateHeader;
  for (int64_t d = 0; d < padded_dim; d += 16) {
    Mul(V::Load(accumulator + d), factor).Store(accumulator + d);
  }
}

// acc = fma(p, v, acc) over each row's keys ascending: what the rows share in one product, the
// keys before and after it row by row. A key that a row does not see is not touched for it.
template <class V>
inline void AddValues(const AttendTileArgs& args, const float* const* weights) {
  float* accumulator[kAttendRows];
  int begin = 0;
  int end = kTileTokens;
  for (int r = 0; r < args.rows; ++r) {
    accumulator[r] = args.state[r] + kStateHeader;
    begin = args.begin[r] > begin ? args.begin[r] : begin;
    end = args.end[r] < end ? args.end[r] : end;
  }
  if (begin >= end) {  // nothing shared
    for (int r = 0; r < args.rows; ++r) {
      ProductOfColumns<V, false>(1, weights + r, args.begin[r], args.end[r], args.values,
                                 args.padded_dim, accumulator + r);
    }
    return;
  }
  for (int r = 0; r < args.rows; ++r) {
    if (args.begin[r] == begin) continue;
    ProductOfColumns<V, false>(1, weights + r, args.begin[r], begin, args.values, args.padded_dim,
                               accumulator + r);
  }
  ProductOfColumns<V, false>(args.rows, weights, begin, end, args.values, args.padded_dim,
                             accumulator);
  for (int r = 0; r < args.rows; ++r) {
    if (args.end[r] == end) continue;
    ProductOfColumns<V, false>(1, weights + r, end, args.end[r], args.values, args.padded_dim,
                               accumulator + r);
  }
}

template <class V>
void AttendTileKernel(const AttendTileArgs& args) {
  alignas(64) float scores[kAttendRows][kTileTokens];
  float* rows[kAttendRows];
  for (int r = 0; r < kAttendRows; ++r) rows[r] = scores[r];
  ProductOfColumns<V, true>(args.rows, args.query, 0, args.head_dim, args.keys, kTileTokens, rows);

  alignas(64) float maximum[16] = {};
  alignas(64) float correction[16] = {};
  for (int r = 0; r < args.rows; ++r) {
    const float before = args.state[r][0];
    maximum[r] = PrepareScores<V>(args, r, before, scores[r]);
    correction[r] = before - maximum[r];
  }
  ExpNonPositive(V::Load(correction)).Store(correction);
  for (int r = 0; r < args.rows; ++r) {
    Reweight<V>(args.padded_dim, maximum[r], correction[r], scores[r], args.state[r]);
  }
  AddValues<V>(args, rows);
}

template <class V>
void FoldSplitKernel(int64_t padded_dim, float* split, float* total) {
  const float sum = ReduceAdd(V::Load(split + kLaneSumOffset));
  const float maximum = split[0] > total[1] ? split[0] : total[1];
  alignas(64) float factors[16] = {total[1] - maximum, split[0] - maximum};
  ExpNonPositive(V::Load(factors)).Store(factors);
  const V old_factor = V::Set(factors[0]);
  const V new_factor = V::Set(factors[1]);
  alignas(64) float sums[16] = {total[2]};
  Fma(V::Set(sum), new_factor, Mul(V::Load(sums), old_factor)).Store(sums);
  total[1] = maximum;
  total[2] = sums[0];
  const float* part = split + kStateHeader;
  float* out = total + kStateHeader + padded_dim;
  for (int64_t d = 0; d < padded_dim; d += 16) {
    Fma(V::Load(part + d), new_factor, Mul(V::Load(out + d), old_factor)).Store(out + d);
  }
  EmptySplit<V>(padded_dim, split);
}

template <class V>
void FinishRowKernel(const float* state, int64_t head_dim, int64_t padded_dim, float* out) {
  const V inverse = V::Set(1.0F / state[2]);
  const float* total = state + kStateHeader + padded_dim;
  ForVectors(head_dim, [&](int64_t d, int count) {
    StoreUpTo(Mul(V::Load(total + d), inverse), out + d, count);
  });
}

}  // namespace shoal::kernels::cpu
