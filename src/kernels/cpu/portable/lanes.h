// SPDX-License-Identifier: Apache-2.0
// Sixteen float lanes and eight double lanes in plain C++: the executable definition of what the
// vector types of the other instruction sets compute. Every operation is one IEEE operation a lane
// (std::fma where fused), so kernels written over these types give equal bits on every variant.
//
// Contract of all variants (avx2/lanes.h, avx512/lanes.h):
// - Max(a, b) and Min(a, b) return b where a comparison is false, also for NaN.
// - Masked loads read only the first n lanes, 0 <= n <= lanes; the others are +0.
// - ReduceAdd adds lane i and i + 8, then i + 4, i + 2, i + 1.
// - Half stores saturate at +-65504, round to nearest even and keep NaN.
#pragma once

#include <bit>
#include <cmath>
#include <cstdint>

#include "kernels/cpu/f16.h"

namespace shoal::kernels::cpu::portable {

struct Lanes16 {
  static constexpr int kBlockRows = 6;     // rows and vectors of a register block of the
  static constexpr int kBlockVectors = 1;  // small matrix products of attention

  float lane[16];

  template <class F>
  static Lanes16 Make(F f) {
    Lanes16 out;
    for (int i = 0; i < 16; ++i) out.lane[i] = f(i);
    return out;
  }
  static Lanes16 Set(float x) {
    return Make([x](int) { return x; });
  }
  static Lanes16 Load(const float* p) {
    return Make([p](int i) { return p[i]; });
  }
  static Lanes16 LoadMasked(const float* p, int n) {
    return Make([p, n](int i) { return i < n ? p[i] : 0.0F; });
  }
  static Lanes16 LoadHalf(const uint16_t* p) {
    return Make([p](int i) { return F16ToFloat(p[i]); });
  }
  static Lanes16 LoadHalfMasked(const uint16_t* p, int n) {
    return Make([p, n](int i) { return i < n ? F16ToFloat(p[i]) : 0.0F; });
  }
  // p[0] in lanes 0 and 1, p[1] in lanes 2 and 3, ... p[7].
  static Lanes16 LoadDuplicated(const float* p) {
    return Make([p](int i) { return p[i / 2]; });
  }
  // -1 in even lanes, +1 in odd ones.
  static Lanes16 Alternating() {
    return Make([](int i) { return i % 2 == 0 ? -1.0F : 1.0F; });
  }
  void Store(float* p) const { StoreMasked(p, 16); }
  void StoreMasked(float* p, int n) const {
    for (int i = 0; i < n; ++i) p[i] = lane[i];
  }
  void StoreHalfMasked(uint16_t* p, int n) const {
    for (int i = 0; i < n; ++i) p[i] = FloatToF16Saturating(lane[i]);
  }
};

inline Lanes16 Fma(Lanes16 a, Lanes16 b, Lanes16 c) {
  return Lanes16::Make([&](int i) { return std::fma(a.lane[i], b.lane[i], c.lane[i]); });
}
inline Lanes16 Add(Lanes16 a, Lanes16 b) {
  return Lanes16::Make([&](int i) { return a.lane[i] + b.lane[i]; });
}
inline Lanes16 Sub(Lanes16 a, Lanes16 b) {
  return Lanes16::Make([&](int i) { return a.lane[i] - b.lane[i]; });
}
inline Lanes16 Mul(Lanes16 a, Lanes16 b) {
  return Lanes16::Make([&](int i) { return a.lane[i] * b.lane[i]; });
}
inline Lanes16 Div(Lanes16 a, Lanes16 b) {
  return Lanes16::Make([&](int i) { return a.lane[i] / b.lane[i]; });
}
inline Lanes16 Max(Lanes16 a, Lanes16 b) {
  return Lanes16::Make([&](int i) { return a.lane[i] > b.lane[i] ? a.lane[i] : b.lane[i]; });
}
inline Lanes16 Min(Lanes16 a, Lanes16 b) {
  return Lanes16::Make([&](int i) { return a.lane[i] < b.lane[i] ? a.lane[i] : b.lane[i]; });
}
inline Lanes16 Abs(Lanes16 a) {
  return Lanes16::Make(
      [&](int i) { return std::bit_cast<float>(std::bit_cast<uint32_t>(a.lane[i]) & 0x7FFFFFFF); });
}
// magnitude with the sign of `sign`; magnitude is not negative.
inline Lanes16 WithSign(Lanes16 magnitude, Lanes16 sign) {
  return Lanes16::Make([&](int i) {
    return std::bit_cast<float>(std::bit_cast<uint32_t>(magnitude.lane[i]) |
                                (std::bit_cast<uint32_t>(sign.lane[i]) & 0x80000000));
  });
}
// a < b ? x : y, lane by lane; y where a or b is NaN.
inline Lanes16 SelectLess(Lanes16 a, Lanes16 b, Lanes16 x, Lanes16 y) {
  return Lanes16::Make([&](int i) { return a.lane[i] < b.lane[i] ? x.lane[i] : y.lane[i]; });
}
// `other` where a is NaN.
inline Lanes16 ReplaceNan(Lanes16 a, Lanes16 other) {
  return Lanes16::Make([&](int i) { return a.lane[i] == a.lane[i] ? a.lane[i] : other.lane[i]; });
}
// Lanes [begin, end) of a, others of `other`; 0 <= begin <= end <= 16.
inline Lanes16 SelectRange(Lanes16 a, int begin, int end, Lanes16 other) {
  return Lanes16::Make([&](int i) { return begin <= i && i < end ? a.lane[i] : other.lane[i]; });
}
// For t = 1.5 * 2^23 + n with an integer n in [-127, 127]: 2^n, and 0 for n = -127.
inline Lanes16 PowerOfTwo(Lanes16 t) {
  return Lanes16::Make([&](int i) {
    return std::bit_cast<float>((std::bit_cast<uint32_t>(t.lane[i]) << 23) + 0x3F800000U);
  });
}
inline Lanes16 SwapPairs(Lanes16 a) {
  return Lanes16::Make([&](int i) { return a.lane[i ^ 1]; });
}
inline float ReduceAdd(Lanes16 a) {
  for (int width = 8; width >= 1; width /= 2) {
    for (int i = 0; i < width; ++i) a.lane[i] = a.lane[i] + a.lane[i + width];
  }
  return a.lane[0];
}
inline float ReduceMax(Lanes16 a) {
  for (int width = 8; width >= 1; width /= 2) {
    for (int i = 0; i < width; ++i) {
      a.lane[i] = a.lane[i] > a.lane[i + width] ? a.lane[i] : a.lane[i + width];
    }
  }
  return a.lane[0];
}

struct Doubles8 {
  double lane[8];

  template <class F>
  static Doubles8 Make(F f) {
    Doubles8 out;
    for (int i = 0; i < 8; ++i) out.lane[i] = f(i);
    return out;
  }
  static Doubles8 Set(double x) {
    return Make([x](int) { return x; });
  }
  static Doubles8 LoadMasked(const double* p, int n) {
    return Make([p, n](int i) { return i < n ? p[i] : 0.0; });
  }
  // Rounds to float.
  void StoreFloatMasked(float* p, int n) const {
    for (int i = 0; i < n; ++i) p[i] = static_cast<float>(lane[i]);
  }
};

inline Doubles8 Fma(Doubles8 a, Doubles8 b, Doubles8 c) {
  return Doubles8::Make([&](int i) { return std::fma(a.lane[i], b.lane[i], c.lane[i]); });
}
inline Doubles8 Sub(Doubles8 a, Doubles8 b) {
  return Doubles8::Make([&](int i) { return a.lane[i] - b.lane[i]; });
}
inline Doubles8 Mul(Doubles8 a, Doubles8 b) {
  return Doubles8::Make([&](int i) { return a.lane[i] * b.lane[i]; });
}
// x where bit 0 of the bits of t is set, else y.
inline Doubles8 SelectOdd(Doubles8 t, Doubles8 x, Doubles8 y) {
  return Doubles8::Make(
      [&](int i) { return (std::bit_cast<uint64_t>(t.lane[i]) & 1) != 0 ? x.lane[i] : y.lane[i]; });
}
// Negates x where bit 1 of (the bits of t + offset) is set.
inline Doubles8 NegateByBit1(Doubles8 x, Doubles8 t, uint64_t offset) {
  return Doubles8::Make([&](int i) {
    const uint64_t sign = ((std::bit_cast<uint64_t>(t.lane[i]) + offset) & 2) << 62;
    return std::bit_cast<double>(std::bit_cast<uint64_t>(x.lane[i]) ^ sign);
  });
}

}  // namespace shoal::kernels::cpu::portable
