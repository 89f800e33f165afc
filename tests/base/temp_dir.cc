// SPDX-License-Identifier: Apache-2.0
#include "base/temp_dir.h"

#include <stdlib.h>

#include <filesystem>
#include <fstream>
#include <sstream>
#include <system_error>

#include "absl/strings/str_cat.h"
#include "base/check.h"

namespace shoal::testing {

TempDir::TempDir() {
  std::string name = (std::filesystem::temp_directory_path() / "shoal-test-XXXXXX").string();
  SHOAL_CHECK(mkdtemp(name.data()) != nullptr);
  path_ = name;
}

TempDir::~TempDir() {
  std::error_code error;
  std::filesystem::remove_all(path_, error);
}

std::string TempDir::Write(absl::string_view name, absl::string_view bytes) const {
  const std::string path = absl::StrCat(path_, "/", name);
  std::ofstream file(path, std::ios::binary | std::ios::trunc);
  file.write(bytes.data(), static_cast<std::streamsize>(bytes.size()));
  file.close();
  SHOAL_CHECK(file.good());
  return path;
}

std::string ReadFile(const std::string& path) {
  std::ifstream file(path, std::ios::binary);
  SHOAL_CHECK(file.good());
  std::ostringstream text;
  text << file.rdbuf();
  return text.str();
}

}  // namespace shoal::testing
