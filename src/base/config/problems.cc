// SPDX-License-Identifier: Apache-2.0
#include "base/config/problems.h"

#include <algorithm>
#include <utility>

#include "absl/strings/escaping.h"
#include "absl/strings/str_cat.h"

namespace shoal::config {
namespace {

constexpr size_t kShownMax = 20;
constexpr size_t kValueBytesMax = 80;

}  // namespace

void Problems::Add(const std::string& key_path, absl::string_view what) {
  AddAt(LineOf(key_path), key_path, what);
}

void Problems::AddAt(int line, const std::string& key_path, absl::string_view what) {
  const std::string place = line > 0 ? absl::StrCat(source_, ":", line) : source_ + " with --set";
  const std::string key = key_path.empty() ? "" : absl::StrCat(key_path, ": ");
  problems_.push_back({.line = line, .text = absl::StrCat(place, ": ", key, what)});
}

int Problems::LineOf(std::string key_path) const {
  while (true) {
    const auto found = lines_.find(key_path);
    if (found != lines_.end()) return found->second;
    const size_t dot = key_path.rfind('.');
    if (dot == std::string::npos) return 1;
    key_path.resize(dot);
  }
}

absl::Status Problems::ToStatus() const {
  if (problems_.empty()) return absl::OkStatus();
  std::vector<Problem> sorted = problems_;
  std::stable_sort(sorted.begin(), sorted.end(),
                   [](const Problem& a, const Problem& b) { return a.line < b.line; });
  std::string message;
  for (size_t i = 0; i < std::min(sorted.size(), kShownMax); ++i) {
    absl::StrAppend(&message, i == 0 ? "" : "\n", sorted[i].text);
  }
  if (sorted.size() > kShownMax) {
    absl::StrAppend(&message, "\nand ", sorted.size() - kShownMax, " more");
  }
  return absl::InvalidArgumentError(message);
}

std::string Shown(absl::string_view value) {
  const bool cut = value.size() > kValueBytesMax;
  return absl::StrCat("\"", absl::CHexEscape(value.substr(0, kValueBytesMax)),
                      cut ? "...\"" : "\"");
}

}  // namespace shoal::config
