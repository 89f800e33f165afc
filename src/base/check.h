// SPDX-License-Identifier: Apache-2.0
// Assertions for our own bugs. Never used on what a peer, a file or a user controls: those get an
// absl::Status. A failed check prints the expression with its place and aborts the process.
#pragma once

namespace shoal::internal {
[[noreturn]] void CheckFailed(const char* expression, const char* file, int line);
}  // namespace shoal::internal

#define SHOAL_CHECK(condition)                                        \
  do {                                                                \
    if (!(condition)) [[unlikely]]                                    \
      ::shoal::internal::CheckFailed(#condition, __FILE__, __LINE__); \
  } while (false)
