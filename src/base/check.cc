// SPDX-License-Identifier: Apache-2.0
#include "base/check.h"

#include <cstdio>
#include <cstdlib>

namespace shoal::internal {

void CheckFailed(const char* expression, const char* file, int line) {
  std::fprintf(stderr, "check failed: %s (%s:%d)\n", expression, file, line);
  std::fflush(stderr);
  std::abort();
}

}  // namespace shoal::internal
