// SPDX-License-Identifier: Apache-2.0
// TempDir: a folder of one test, removed with all it holds.
#pragma once

#include <string>

#include "absl/strings/string_view.h"

namespace shoal::testing {

// Owned by the test's thread. Failures end the test.
class TempDir {
 public:
  TempDir();
  ~TempDir();
  TempDir(const TempDir&) = delete;
  TempDir& operator=(const TempDir&) = delete;

  const std::string& path() const { return path_; }
  // Writes (or replaces) a file and returns its full name.
  std::string Write(absl::string_view name, absl::string_view bytes) const;

 private:
  std::string path_;
};

// The whole of a file; ends the test when it cannot be read.
std::string ReadFile(const std::string& path);

}  // namespace shoal::testing
