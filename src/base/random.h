// SPDX-License-Identifier: Apache-2.0
// Unpredictable numbers of the system, for incarnations, default seeds and tokens; and the
// comparison of secrets. Nothing here decides: deciding code takes seeds as arguments.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>

#include "absl/strings/string_view.h"

namespace shoal {

// Thread-safe. Fills from the kernel's cryptographic generator; waits for it to be seeded.
void FillRandom(void* out, size_t bytes);

// 64 unpredictable bits, never 0. Thread-safe.
uint64_t RandomId();

// Lower-case hex, two digits a byte.
std::string HexEncode(absl::string_view bytes);
// 16 digits.
std::string HexId(uint64_t id);

// Whether two secrets are equal, in a time that tells nothing about where they differ: their
// SHA-256 digests are compared. Two empty texts are equal; callers refuse an empty secret.
bool ConstantTimeEqual(absl::string_view a, absl::string_view b);

}  // namespace shoal
