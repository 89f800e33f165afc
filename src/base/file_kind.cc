// SPDX-License-Identifier: Apache-2.0
#include "base/file_kind.h"

#include <algorithm>
#include <string>

#include "absl/strings/ascii.h"
#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"

namespace shoal {

absl::Status RefuseStandIn(const uint8_t* data, int64_t size, absl::string_view wanted) {
  if (size == 0) {
    return absl::InvalidArgumentError(absl::StrCat("an empty file, not ", wanted));
  }
  const absl::string_view head(reinterpret_cast<const char*>(data),
                               static_cast<size_t>(std::min<int64_t>(size, 64)));
  if (absl::StartsWith(head, "version https://git-lfs")) {
    return absl::InvalidArgumentError(
        absl::StrCat("a Git LFS pointer, not ", wanted, ": run \"git lfs pull\" where it is from"));
  }
  const std::string text = absl::AsciiStrToLower(absl::StripLeadingAsciiWhitespace(head));
  if (absl::StartsWith(text, "<!doctype") || absl::StartsWith(text, "<html")) {
    return absl::InvalidArgumentError(
        absl::StrCat("a web page, not ", wanted, ": download the file again"));
  }
  return absl::OkStatus();
}

}  // namespace shoal
