// SPDX-License-Identifier: Apache-2.0
// What text values of the configuration may look like.
#pragma once

#include <string>

#include "base/config/binder.h"
#include "base/config/yaml_tree.h"

namespace shoal::config {

// "" when the scalar obeys the rule, else what is wrong: "must be one of ...".
std::string TextProblem(const YamlNode& scalar, const TextRule& rule);

// `path` against `folder` (absolute), without "." and ".." segments where they can be resolved.
std::string AbsolutePath(const std::string& folder, const std::string& path);

// True for the addresses that mean every interface.
bool IsWildcard(const std::string& host);

}  // namespace shoal::config
