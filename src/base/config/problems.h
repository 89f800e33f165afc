// SPDX-License-Identifier: Apache-2.0
// Problems: what is wrong with a configuration, and where in the file each key stands.
#pragma once

#include <map>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/strings/string_view.h"

namespace shoal::config {

// Owned by one thread.
class Problems {
 public:
  // `source` is the file's name as the user gave it.
  explicit Problems(std::string source) : source_(std::move(source)) {}

  // Remembers where a key stands (0: it comes from --set).
  void Locate(const std::string& key_path, int line) { lines_[key_path] = line; }

  // `what` names the value and the rule. The line is that of the key, or of the nearest key above.
  void Add(const std::string& key_path, absl::string_view what);
  void AddAt(int line, const std::string& key_path, absl::string_view what);

  // INVALID_ARGUMENT with one "file:line: key: what" a line, in file order (the first 20).
  absl::Status ToStatus() const;

 private:
  struct Problem {
    int line;
    std::string text;
  };

  int LineOf(std::string key_path) const;

  const std::string source_;
  std::map<std::string, int> lines_;
  std::vector<Problem> problems_;
};

// A value as error messages show it: quoted, escaped, shortened.
std::string Shown(absl::string_view value);

}  // namespace shoal::config
