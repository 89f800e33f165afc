// SPDX-License-Identifier: Apache-2.0
// The storage layout of each GGUF tensor type: how many values form a block, in how many bytes.
#pragma once

#include <cstdint>
#include <optional>

#include "base/gguf/gguf_file.h"

namespace shoal::gguf {

struct BlockLayout {
  int64_t values = 1;  // a row's length is a multiple of this
  int64_t bytes = 0;   // bytes of one block
};

// nullopt for a type number this build does not know.
std::optional<BlockLayout> LayoutOf(uint32_t type);

}  // namespace shoal::gguf
