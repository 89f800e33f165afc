// SPDX-License-Identifier: Apache-2.0
// The one place that knows all backends.
#include <cstdlib>

#include "absl/status/status.h"
#include "absl/strings/str_cat.h"
#include "kernels/backend.h"
#include "kernels/cpu/cpu_backend.h"
#include "kernels/cpu/isa.h"
#include "kernels/reference/reference_backend.h"

namespace shoal::kernels {

absl::StatusOr<std::unique_ptr<Backend>> CreateBackend(const std::string& name) {
  if (name == "reference") return std::make_unique<reference::ReferenceBackend>();
  if (name == "cpu") {
    const absl::StatusOr<cpu::Isa> isa = cpu::ChooseIsa(std::getenv("SHOAL_ISA"));
    if (!isa.ok()) return isa.status();
    return std::make_unique<cpu::CpuBackend>(*isa);
  }
  return absl::InvalidArgumentError(
      absl::StrCat("backend '", name, "' is unknown; use cpu or reference"));
}

}  // namespace shoal::kernels
