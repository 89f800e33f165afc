// SPDX-License-Identifier: Apache-2.0
// Elementary functions over a vector type (V: sixteen floats, D: eight doubles). Included only by
// the op_kernels.cc of each instruction set. Own polynomials (Chebyshev fits), so that no result
// depends on a C library.
#pragma once

#include <cstdint>

namespace shoal::kernels::cpu {

// exp(x) for x <= 0, relative error below 1e-7. x below about -87.7 (2^-126.5) gives 0; NaN stays.
template <class V>
inline V ExpNonPositive(V x) {
  const V shift = V::Set(12582912.0F);  // 1.5 * 2^23: adding it rounds to an integer
  x = Max(V::Set(-88.0F), x);
  const V t = Fma(x, V::Set(1.44269504F), shift);
  const V n = Sub(t, shift);
  V r = Fma(n, V::Set(-0.693145751953125F), x);  // ln 2 in two parts; the first product is exact
  r = Fma(n, V::Set(-1.42860682031e-6F), r);
  V p = V::Set(0.00139262508315F);
  p = Fma(p, r, V::Set(0.00836323288368F));
  p = Fma(p, r, V::Set(0.041666554213F));
  p = Fma(p, r, V::Set(0.166665766661F));
  p = Fma(p, r, V::Set(0.5F));
  p = Fma(p, r, V::Set(1.0F));
  p = Fma(p, r, V::Set(1.0F));
  return Mul(p, PowerOfTwo(t));
}

// tanh(x), relative error below 3e-7; the sign of zero is kept.
template <class V>
inline V Tanh(V x) {
  const V one = V::Set(1.0F);
  const V a = Abs(x);
  const V e = ExpNonPositive(Mul(a, V::Set(-2.0F)));
  const V large = Div(Sub(one, e), Add(one, e));
  const V z = Mul(a, a);
  V p = V::Set(0.00229274481618F);
  p = Fma(p, z, V::Set(-0.00834394551584F));
  p = Fma(p, z, V::Set(0.021768918651F));
  p = Fma(p, z, V::Set(-0.0539592595772F));
  p = Fma(p, z, V::Set(0.133333035569F));
  p = Fma(p, z, V::Set(-0.333333331721F));
  const V small = Fma(Mul(a, z), p, a);
  return WithSign(SelectLess(a, V::Set(0.625F), small, large), x);
}

// 1 / (1 + exp(-x)).
template <class V>
inline V Sigmoid(V x) {
  const V one = V::Set(1.0F);
  const V e = ExpNonPositive(Mul(Abs(x), V::Set(-1.0F)));
  return Div(SelectLess(x, V::Set(0.0F), e, one), Add(one, e));
}

// Sine and cosine for |x| below 2^30, absolute error below 2e-16: reduction by pi/2 in three parts,
// then Taylor series on [-pi/4, pi/4].
template <class D>
inline void SinCos(D x, D& sine, D& cosine) {
  const D shift = D::Set(6755399441055744.0);  // 1.5 * 2^52
  const D t = Fma(x, D::Set(0x1.45f306dc9c883p-1), shift);
  const D n = Sub(t, shift);
  D r = Fma(n, D::Set(-0x1.921fb54442d18p+0), x);
  r = Fma(n, D::Set(-0x1.1a62633145c07p-54), r);
  r = Fma(n, D::Set(0x1.f1976b8000000p-110), r);
  const D z = Mul(r, r);
  D s = D::Set(1.0 / 355687428096000.0);  // 1/17!
  s = Fma(s, z, D::Set(-1.0 / 1307674368000.0));
  s = Fma(s, z, D::Set(1.0 / 6227020800.0));
  s = Fma(s, z, D::Set(-1.0 / 39916800.0));
  s = Fma(s, z, D::Set(1.0 / 362880.0));
  s = Fma(s, z, D::Set(-1.0 / 5040.0));
  s = Fma(s, z, D::Set(1.0 / 120.0));
  s = Fma(s, z, D::Set(-1.0 / 6.0));
  s = Fma(Mul(r, z), s, r);
  D c = D::Set(1.0 / 20922789888000.0);  // 1/16!
  c = Fma(c, z, D::Set(-1.0 / 87178291200.0));
  c = Fma(c, z, D::Set(1.0 / 479001600.0));
  c = Fma(c, z, D::Set(-1.0 / 3628800.0));
  c = Fma(c, z, D::Set(1.0 / 40320.0));
  c = Fma(c, z, D::Set(-1.0 / 720.0));
  c = Fma(c, z, D::Set(1.0 / 24.0));
  c = Fma(c, z, D::Set(-0.5));
  c = Fma(c, z, D::Set(1.0));
  // Quadrant n mod 4 sits in the low bits of t.
  sine = NegateByBit1(SelectOdd(t, c, s), t, 0);
  cosine = NegateByBit1(SelectOdd(t, s, c), t, 1);
}

}  // namespace shoal::kernels::cpu
