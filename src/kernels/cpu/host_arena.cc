// SPDX-License-Identifier: Apache-2.0
#include "kernels/cpu/host_arena.h"

#include "absl/status/status.h"
#include "absl/strings/str_cat.h"

namespace shoal::kernels::cpu {

absl::StatusOr<std::unique_ptr<Arena>> HostArena::Create(std::string name, int64_t bytes) {
  if (bytes < 0) {
    return absl::InvalidArgumentError(absl::StrCat("arena '", name, "' of ", bytes, " bytes"));
  }
  AlignedBuffer buffer(bytes);
  if (buffer.data() == nullptr && bytes > 0) {
    return absl::ResourceExhaustedError(
        absl::StrCat("arena '", name, "': no memory for ", bytes, " bytes"));
  }
  return std::make_unique<HostArena>(std::move(name), std::move(buffer));
}

}  // namespace shoal::kernels::cpu
