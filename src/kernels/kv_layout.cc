// SPDX-License-Identifier: Apache-2.0
#include "kernels/kv_layout.h"

#include "absl/strings/str_cat.h"

namespace shoal::kernels {

absl::Status CheckKvLayout(const KvLayout& layout) {
  const int64_t tokens = layout.block_tokens;
  if (tokens != 8 && tokens != 16 && tokens != 32 && tokens != 64) {
    return absl::InvalidArgumentError(absl::StrCat(
        "kv block_tokens ", tokens, " is not one of 8, 16, 32, 64: a block must divide a tile"));
  }
  if (layout.head_dim < 8 || layout.head_dim > 256 || layout.head_dim % 8 != 0) {
    return absl::InvalidArgumentError(
        absl::StrCat("kv head_dim ", layout.head_dim, " is not a multiple of 8 from 8 to 256"));
  }
  if (layout.dtype != DType::kF32 && layout.dtype != DType::kF16) {
    return absl::InvalidArgumentError("kv dtype is neither f32 nor f16");
  }
  if (layout.kv_heads < 1 || layout.layers < 1) {
    return absl::InvalidArgumentError(absl::StrCat("kv layout has ", layout.kv_heads, " heads and ",
                                                   layout.layers,
                                                   " layers; both must be at least 1"));
  }
  return absl::OkStatus();
}

}  // namespace shoal::kernels
