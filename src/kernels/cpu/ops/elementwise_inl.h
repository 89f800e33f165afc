// SPDX-License-Identifier: Apache-2.0
// Norms, activations, addition and rotary embedding of one row over a vector type; the definitions
// are in op_kernels.h.
#pragma once

#include <cstdint>

#include "kernels/cpu/ops/math_inl.h"

namespace shoal::kernels::cpu {

// Calls body(offset, count) for whole vectors, then once for a tail of 1..15 elements.
template <class Body>
inline __attribute__((always_inline)) void ForVectors(int64_t n, Body body) {
  int64_t i = 0;
  for (; i + 16 <= n; i += 16) body(i, 16);
  if (i < n) body(i, static_cast<int>(n - i));
}

template <class V>
inline V LoadUpTo(const float* p, int count) {
  return count == 16 ? V::Load(p) : V::LoadMasked(p, count);
}

template <class V>
inline void StoreUpTo(V value, float* p, int count) {
  if (count == 16) {
    value.Store(p);
  } else {
    value.StoreMasked(p, count);
  }
}

template <class V>
void ExpRowKernel(const float* x, int64_t n, float* out) {
  ForVectors(n, [&](int64_t i, int count) {
    StoreUpTo(ExpNonPositive(LoadUpTo<V>(x + i, count)), out + i, count);
  });
}

template <class V>
void TanhRowKernel(const float* x, int64_t n, float* out) {
  ForVectors(
      n, [&](int64_t i, int count) { StoreUpTo(Tanh(LoadUpTo<V>(x + i, count)), out + i, count); });
}

template <class V>
void RmsNormKernel(const float* x, const float* weight, float eps, int64_t n, float* out) {
  V sum = V::Set(0.0F);
  ForVectors(n, [&](int64_t i, int count) {
    const V value = LoadUpTo<V>(x + i, count);
    sum = Fma(value, value, sum);
  });
  const float mean = ReduceAdd(sum) / static_cast<float>(n);
  const V scale = V::Set(1.0F / __builtin_sqrtf(mean + eps));
  ForVectors(n, [&](int64_t i, int count) {
    const V scaled = Mul(LoadUpTo<V>(x + i, count), scale);
    StoreUpTo(Mul(scaled, LoadUpTo<V>(weight + i, count)), out + i, count);
  });
}

template <class V>
void LayerNormKernel(const float* x, const float* weight, const float* bias, float eps, int64_t n,
                     float* out) {
  const V zero = V::Set(0.0F);
  V sum = zero;
  ForVectors(n, [&](int64_t i, int count) { sum = Add(sum, LoadUpTo<V>(x + i, count)); });
  const V mean = V::Set(ReduceAdd(sum) / static_cast<float>(n));
  V squares = zero;
  ForVectors(n, [&](int64_t i, int count) {
    // Lanes past the row's end hold 0, which is not at the mean.
    const V centred = SelectRange(Sub(LoadUpTo<V>(x + i, count), mean), 0, count, zero);
    squares = Fma(centred, centred, squares);
  });
  const float variance = ReduceAdd(squares) / static_cast<float>(n);
  const V scale = V::Set(1.0F / __builtin_sqrtf(variance + eps));
  ForVectors(n, [&](int64_t i, int count) {
    const V scaled = Mul(Sub(LoadUpTo<V>(x + i, count), mean), scale);
    const V shift = bias == nullptr ? zero : LoadUpTo<V>(bias + i, count);
    StoreUpTo(Fma(scaled, LoadUpTo<V>(weight + i, count), shift), out + i, count);
  });
}

// 0.5 * (1 + tanh(t)) is sigmoid(2 t), without the cancellation.
template <class V>
inline V GeluTanh(V g) {
  const V cubic = Fma(Mul(V::Set(0.044715F), g), g, V::Set(1.0F));
  return Mul(g, Sigmoid(Mul(Mul(g, V::Set(1.59576912F)), cubic)));  // 2 * sqrt(2 / pi)
}

template <class V>
void GeluMulKernel(const float* gate, const float* up, int64_t n, float* out) {
  ForVectors(n, [&](int64_t i, int count) {
    const V gelu = GeluTanh(LoadUpTo<V>(gate + i, count));
    StoreUpTo(Mul(gelu, LoadUpTo<V>(up + i, count)), out + i, count);
  });
}

template <class V>
void GeluKernel(int64_t n, float* x) {
  ForVectors(n, [&](int64_t i, int count) {
    StoreUpTo(GeluTanh(LoadUpTo<V>(x + i, count)), x + i, count);
  });
}

template <class V>
void SoftcapKernel(float cap, int64_t n, float* x) {
  const V limit = V::Set(cap);
  ForVectors(n, [&](int64_t i, int count) {
    StoreUpTo(Mul(limit, Tanh(Div(LoadUpTo<V>(x + i, count), limit))), x + i, count);
  });
}

template <class V>
void SiluMulKernel(const float* gate, const float* up, int64_t n, float* out) {
  ForVectors(n, [&](int64_t i, int count) {
    const V g = LoadUpTo<V>(gate + i, count);
    const V silu = Mul(g, Sigmoid(g));
    StoreUpTo(Mul(silu, LoadUpTo<V>(up + i, count)), out + i, count);
  });
}

template <class V>
void AddKernel(const float* y, int64_t n, float* x) {
  ForVectors(n, [&](int64_t i, int count) {
    StoreUpTo(Add(LoadUpTo<V>(x + i, count), LoadUpTo<V>(y + i, count)), x + i, count);
  });
}

template <class D>
void RopeAnglesKernel(const double* inv_freq, int64_t pairs, double position, double magnitude,
                      float* cos, float* sin) {
  const int64_t padded = (pairs + 15) / 16 * 16;
  for (int64_t i = pairs; i < padded; ++i) cos[i] = sin[i] = 0;
  for (int64_t i = 0; i < pairs; i += 8) {
    const int count = pairs - i < 8 ? static_cast<int>(pairs - i) : 8;
    const D angle = Mul(D::LoadMasked(inv_freq + i, count), D::Set(position));
    D sine;
    D cosine;
    SinCos(angle, sine, cosine);
    Mul(cosine, D::Set(magnitude)).StoreFloatMasked(cos + i, count);
    Mul(sine, D::Set(magnitude)).StoreFloatMasked(sin + i, count);
  }
}

template <class V>
void RotateNeoxKernel(const float* cos, const float* sin, int64_t pairs, int64_t half, float* x) {
  const V minus_one = V::Set(-1.0F);
  ForVectors(pairs, [&](int64_t i, int count) {
    const V c = LoadUpTo<V>(cos + i, count);
    const V s = LoadUpTo<V>(sin + i, count);
    const V a = LoadUpTo<V>(x + i, count);
    const V b = LoadUpTo<V>(x + half + i, count);
    StoreUpTo(Fma(b, Mul(s, minus_one), Mul(a, c)), x + i, count);
    StoreUpTo(Fma(a, s, Mul(b, c)), x + half + i, count);
  });
}

template <class V>
void RotateInterleavedKernel(const float* cos, const float* sin, int64_t pairs, float* x) {
  ForVectors(2 * pairs, [&](int64_t i, int count) {
    const V c = V::LoadDuplicated(cos + i / 2);
    const V s = Mul(V::LoadDuplicated(sin + i / 2), V::Alternating());
    const V value = LoadUpTo<V>(x + i, count);
    StoreUpTo(Fma(SwapPairs(value), s, Mul(value, c)), x + i, count);
  });
}

}  // namespace shoal::kernels::cpu
