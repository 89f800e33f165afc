// SPDX-License-Identifier: Apache-2.0
// Instruction-set variants of the CPU kernels and which of them this machine can run. All variants
// give the same bits; they differ in speed only.
#pragma once

#include <cstdint>
#include <vector>

#include "absl/status/statusor.h"

namespace shoal::kernels::cpu {

// Ordered: a machine that runs one of them runs those before it.
//   kAvx2    AVX2, FMA, F16C
//   kAvx512  AVX-512 F, BW, VL, DQ, VNNI
//   kAmx     kAvx512 and AMX tiles with int8
enum class Isa : uint8_t { kPortable, kAvx2, kAvx512, kAmx };

// "portable", "avx2", "avx512", "amx".
const char* Name(Isa isa);

// Whether the processor and the operating system let this process run `isa`. Asks the kernel for
// AMX tile state once. Thread-safe.
bool IsSupported(Isa isa);

// All supported variants, ascending.
std::vector<Isa> SupportedIsas();

// The best supported variant, or the one that `requested` names (empty: no request). An unknown
// name is InvalidArgument, one the machine lacks FailedPrecondition; both list what is possible.
absl::StatusOr<Isa> ChooseIsa(const char* requested);

}  // namespace shoal::kernels::cpu
