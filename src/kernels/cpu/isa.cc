// SPDX-License-Identifier: Apache-2.0
#include "kernels/cpu/isa.h"

#include <cpuid.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <string>

#include "absl/status/status.h"
#include "absl/strings/str_cat.h"

namespace shoal::kernels::cpu {
namespace {

constexpr Isa kAllIsas[] = {Isa::kPortable, Isa::kAvx2, Isa::kAvx512, Isa::kAmx};

constexpr uint64_t kStateAvx = 0x6;             // XMM, YMM
constexpr uint64_t kStateAvx512 = 0xE6;         // and opmask, ZMM
constexpr uint64_t kStateAmx = 0x60000;         // tile configuration and data
constexpr int kArchRequestPermission = 0x1023;  // ARCH_REQ_XCOMP_PERM
constexpr int kTileDataFeature = 18;

// The register state the operating system saves for us; 0 without XGETBV.
uint64_t EnabledState() {
  unsigned eax, ebx, ecx, edx;
  if (__get_cpuid(1, &eax, &ebx, &ecx, &edx) == 0) return 0;
  if ((ecx & bit_OSXSAVE) == 0) return 0;
  unsigned low, high;
  asm volatile("xgetbv" : "=a"(low), "=d"(high) : "c"(0));
  return uint64_t{high} << 32 | low;
}

bool Has(uint64_t state, uint64_t needed) { return (state & needed) == needed; }

Isa Detect() {
  const uint64_t state = EnabledState();
  unsigned eax, ebx, ecx, edx;
  if (__get_cpuid(1, &eax, &ebx, &ecx, &edx) == 0) return Isa::kPortable;
  const bool fma = (ecx & bit_FMA) != 0 && (ecx & bit_F16C) != 0;
  if (__get_cpuid_count(7, 0, &eax, &ebx, &ecx, &edx) == 0) return Isa::kPortable;
  if (!fma || (ebx & bit_AVX2) == 0 || !Has(state, kStateAvx)) return Isa::kPortable;
  const unsigned avx512 = bit_AVX512F | bit_AVX512BW | bit_AVX512VL | bit_AVX512DQ;
  if ((ebx & avx512) != avx512 || (ecx & bit_AVX512VNNI) == 0) return Isa::kAvx2;
  if (!Has(state, kStateAvx512)) return Isa::kAvx2;
  const unsigned amx = bit_AMX_TILE | bit_AMX_INT8;
  if ((edx & amx) != amx || !Has(state, kStateAmx)) return Isa::kAvx512;
  // Tile data is off until the process asks; the permission holds for all its threads.
  if (syscall(SYS_arch_prctl, kArchRequestPermission, kTileDataFeature) != 0) return Isa::kAvx512;
  return Isa::kAmx;
}

Isa Best() {
  static const Isa best = Detect();
  return best;
}

std::string Join(const std::vector<Isa>& isas) {
  std::string text;
  for (const Isa isa : isas) absl::StrAppend(&text, text.empty() ? "" : ", ", Name(isa));
  return text;
}

}  // namespace

const char* Name(Isa isa) {
  switch (isa) {
    case Isa::kPortable:
      return "portable";
    case Isa::kAvx2:
      return "avx2";
    case Isa::kAvx512:
      return "avx512";
    case Isa::kAmx:
      return "amx";
  }
  return "?";
}

bool IsSupported(Isa isa) { return isa <= Best(); }

std::vector<Isa> SupportedIsas() {
  std::vector<Isa> isas;
  for (const Isa isa : kAllIsas) {
    if (IsSupported(isa)) isas.push_back(isa);
  }
  return isas;
}

absl::StatusOr<Isa> ChooseIsa(const char* requested) {
  const std::string name = requested == nullptr ? "" : requested;
  if (name.empty()) return Best();
  for (const Isa isa : kAllIsas) {
    if (name != Name(isa)) continue;
    if (IsSupported(isa)) return isa;
    return absl::FailedPreconditionError(
        absl::StrCat("SHOAL_ISA asks for ", name,
                     ", which this machine lacks; it has: ", Join(SupportedIsas())));
  }
  return absl::InvalidArgumentError(
      absl::StrCat("SHOAL_ISA '", name, "' is unknown; use one of: ", Join(SupportedIsas()),
                   ", or leave it unset for the best"));
}

}  // namespace shoal::kernels::cpu
