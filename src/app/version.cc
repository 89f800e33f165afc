// SPDX-License-Identifier: Apache-2.0
#include "absl/strings/str_cat.h"
#include "app/commands.h"
#include "kernels/backend.h"

namespace shoal::app {

std::string VersionText() {
  const auto backend = kernels::CreateBackend("cpu");
  return absl::StrCat(
      "shoal ", SHOAL_VERSION, ", numerics ", kernels::kNumericsVersion, ", ",
      backend.ok() ? (*backend)->Describe() : std::string(backend.status().message()));
}

}  // namespace shoal::app
