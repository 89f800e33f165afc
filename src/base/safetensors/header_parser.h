// SPDX-License-Identifier: Apache-2.0
// The JSON header of a .safetensors file, read in one pass without a document in memory.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"

namespace shoal::safetensors {

struct HeaderEntry {
  std::string name;
  std::string dtype;
  std::vector<int64_t> shape;
  int64_t begin = 0;  // offsets in the data that follows the header
  int64_t end = 0;
};

// In the header's order. INVALID_ARGUMENT on anything the format does not allow: other keys, wrong
// types, negative or fractional numbers, a tensor twice, more than 8 dimensions.
absl::StatusOr<std::vector<HeaderEntry>> ParseHeader(absl::string_view json);

// Bytes of one element; 0 for an unknown dtype.
int64_t DtypeBytes(absl::string_view dtype);

}  // namespace shoal::safetensors
