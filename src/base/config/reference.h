// SPDX-License-Identifier: Apache-2.0
// The documentation of every configuration key, made from the same declarations that read them.
#pragma once

#include <string>

namespace shoal::config {

// A markdown document: one table row per key with its type, default, range and meaning.
std::string ConfigReference();

}  // namespace shoal::config
