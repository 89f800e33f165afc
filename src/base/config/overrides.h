// SPDX-License-Identifier: Apache-2.0
// "--set key.path=value": changes to a configuration tree before it is validated.
#pragma once

#include "absl/status/status.h"
#include "absl/strings/string_view.h"
#include "base/config/yaml_tree.h"

namespace shoal::config {

// Path segments are keys of maps, and indices or `name`s of list elements; names may contain dots.
// A missing key is created, a missing list element is INVALID_ARGUMENT. The value is YAML.
absl::Status ApplyOverride(absl::string_view override_text, YamlNode& root);

}  // namespace shoal::config
