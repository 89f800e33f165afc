// SPDX-License-Identifier: Apache-2.0
// Variant counters of one op: "name portable", "name avx2", "name avx512".
#pragma once

#include "kernels/cpu/isa.h"
#include "kernels/variant_counts.h"

namespace shoal::kernels::cpu {

struct OpCounters {
  VariantCounter portable;
  VariantCounter avx2;
  VariantCounter avx512;

  // Thread-safe. AMX machines run the AVX-512 variant of these ops.
  void Count(Isa isa) {
    CountVariant(isa == Isa::kPortable ? portable : (isa == Isa::kAvx2 ? avx2 : avx512));
  }
};

}  // namespace shoal::kernels::cpu

// A namespace-scope set of counters for the op called `op` (a string literal).
#define SHOAL_OP_COUNTERS(variable, op)                                                      \
  constinit OpCounters variable {                                                            \
    VariantCounter(op " portable"), VariantCounter(op " avx2"), VariantCounter(op " avx512") \
  }
