// SPDX-License-Identifier: Apache-2.0
#include "router/frontend/api_keys.h"

#include <fstream>

#include "absl/strings/ascii.h"
#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "base/random.h"

namespace shoal::router {

absl::StatusOr<ApiKeys> ApiKeys::Load(const std::string& path) {
  std::ifstream file(path);
  if (!file) return absl::NotFoundError(absl::StrCat("router.api_keys_file: cannot read ", path));
  ApiKeys keys;
  std::string line;
  while (std::getline(file, line)) {
    const absl::string_view key = absl::StripAsciiWhitespace(line);
    if (!key.empty() && key[0] != '#') keys.keys_.emplace_back(key);
  }
  if (keys.keys_.empty()) {
    return absl::InvalidArgumentError(
        absl::StrCat("router.api_keys_file: ", path, " has no key; add one, or unset the option"));
  }
  return keys;
}

bool ApiKeys::Allows(absl::string_view authorization) const {
  if (open()) return true;
  constexpr absl::string_view kScheme = "bearer ";
  if (!absl::StartsWithIgnoreCase(authorization, kScheme)) return false;
  const absl::string_view key = absl::StripAsciiWhitespace(authorization.substr(kScheme.size()));
  // Compares with every key, so that the time does not tell which one came close.
  bool found = false;
  for (const std::string& known : keys_) found |= ConstantTimeEqual(known, key);
  return found;
}

}  // namespace shoal::router
