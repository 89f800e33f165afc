// SPDX-License-Identifier: Apache-2.0
// The floating-point mode of all CPU arithmetic: denormal results and inputs are zero (FTZ, DAZ),
// round to nearest even. Part of the definition of the bits.
#pragma once

#include <immintrin.h>

namespace shoal::kernels::cpu {

inline constexpr unsigned kFlushDenormals = 0x8040;  // FTZ | DAZ in MXCSR

// Sets the mode for the calling thread and restores the old one. Every op holds one while it
// computes outside the pool; the pool's own threads run in this mode for ever.
class ScopedFloatMode {
 public:
  ScopedFloatMode() : saved_(_mm_getcsr()) { _mm_setcsr(kDefaultMasks | kFlushDenormals); }
  ~ScopedFloatMode() { _mm_setcsr(saved_); }
  ScopedFloatMode(const ScopedFloatMode&) = delete;
  ScopedFloatMode& operator=(const ScopedFloatMode&) = delete;

 private:
  static constexpr unsigned kDefaultMasks = 0x1F80;  // all exceptions masked, nearest even
  unsigned saved_;
};

}  // namespace shoal::kernels::cpu
