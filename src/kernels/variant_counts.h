// SPDX-License-Identifier: Apache-2.0
// Counters behind VariantCounts(): one per kernel variant, counted where a variant is chosen.
#pragma once

#include <atomic>
#include <cstdint>

namespace shoal::kernels {

// Lives for the whole process (a namespace-scope or function-local static). Initialised at compile
// time, so files built for one instruction set may hold one.
struct VariantCounter {
  constexpr explicit VariantCounter(const char* name_in) : name(name_in) {}
  const char* const name;  // "matmul q4_1 amx"
  std::atomic<int64_t> calls{0};
  VariantCounter* next = nullptr;  // owned by the registry from the first count on
};

// Thread-safe. The first call makes the counter appear in VariantCounts(). Counters of equal name
// are added up there.
void CountVariant(VariantCounter& counter);

}  // namespace shoal::kernels
