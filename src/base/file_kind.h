// SPDX-License-Identifier: Apache-2.0
// Recognises files that commonly stand where weights should be, so that the error says what they
// are: an empty download, a Git LFS pointer, a web page.
#pragma once

#include <cstdint>

#include "absl/status/status.h"
#include "absl/strings/string_view.h"

namespace shoal {

// OK unless the bytes are one of these; then INVALID_ARGUMENT ending in "..., not <wanted>".
absl::Status RefuseStandIn(const uint8_t* data, int64_t size, absl::string_view wanted);

}  // namespace shoal
