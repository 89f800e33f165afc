// SPDX-License-Identifier: Apache-2.0
// ApiKeys: who may use the public endpoints.
#pragma once

#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"

namespace shoal::router {

// Immutable, safe from any thread.
class ApiKeys {
 public:
  ApiKeys() = default;  // everybody may
  // One key per line; blank lines and lines starting with '#' are skipped. A file without a key is
  // an error: it must not mean that everybody may.
  static absl::StatusOr<ApiKeys> Load(const std::string& path);
  // `authorization`: the header's value, "Bearer <key>".
  bool Allows(absl::string_view authorization) const;
  bool open() const { return keys_.empty(); }

 private:
  std::vector<std::string> keys_;
};

}  // namespace shoal::router
