// SPDX-License-Identifier: Apache-2.0
// YamlNode: a YAML document as a plain tree that remembers lines. Stricter than YAML: no anchors,
// aliases, tags, duplicate keys or second documents, so that a file means what it seems to say and
// costs no more than its bytes.
#pragma once

#include <string>
#include <utility>
#include <vector>

#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"

namespace shoal::config {

// A value type; keys keep the order of the file.
struct YamlNode {
  enum class Kind { kNull, kScalar, kList, kMap };

  Kind kind = Kind::kNull;
  int line = 0;         // 1-based; 0: not from the file but from an override
  bool quoted = false;  // the scalar was written in quotes
  std::string scalar;
  std::vector<YamlNode> items;  // of a list; of a map: the values, parallel to `keys`
  struct Key {
    std::string name;
    int line = 0;
  };
  std::vector<Key> keys;

  // nullptr when this is no map or has no such key.
  YamlNode* Find(absl::string_view key);
  const YamlNode* Find(absl::string_view key) const;
};

// "a map", "a list", "text", "nothing".
std::string KindName(const YamlNode& node);

// INVALID_ARGUMENT "line N: what" for anything malformed or not allowed. At most 1 MiB of text, 32
// levels, 1,000 keys in a map and 100,000 values.
absl::StatusOr<YamlNode> ParseYaml(absl::string_view text);

}  // namespace shoal::config
