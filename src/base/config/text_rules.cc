// SPDX-License-Identifier: Apache-2.0
#include "base/config/text_rules.h"

#include <algorithm>
#include <filesystem>

#include "absl/strings/ascii.h"
#include "absl/strings/match.h"
#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "base/config/values.h"

namespace shoal::config {
namespace {

constexpr size_t kTextBytesMax = 4096;
constexpr size_t kNameBytesMax = 63;
constexpr size_t kModelNameBytesMax = 128;

bool HasControls(absl::string_view text) {
  return std::any_of(text.begin(), text.end(),
                     [](char c) { return absl::ascii_iscntrl(static_cast<unsigned char>(c)); });
}

// A plain scalar that YAML readers would take for a number or a truth value.
bool LooksTyped(const YamlNode& scalar) {
  if (scalar.quoted) return false;
  static constexpr absl::string_view kWords[] = {"true", "false", "yes", "no", "on", "off"};
  for (const absl::string_view word : kWords) {
    if (absl::EqualsIgnoreCase(scalar.scalar, word)) return true;
  }
  double number = 0;
  return absl::SimpleAtod(scalar.scalar, &number);
}

std::string NameProblem(absl::string_view name, absl::string_view extra, size_t bytes_max) {
  const auto is_plain = [](char c) { return absl::ascii_isalnum(static_cast<unsigned char>(c)); };
  bool fits = name.size() <= bytes_max && is_plain(name.front()) && is_plain(name.back());
  bool digits_only = true;
  for (const char c : name) {
    fits = fits && (is_plain(c) || absl::StrContains(extra, absl::string_view(&c, 1)));
    digits_only = digits_only && absl::ascii_isdigit(static_cast<unsigned char>(c));
  }
  if (fits && !digits_only && !absl::StrContains(name, "..")) return "";
  return absl::StrCat("must be 1 to ", bytes_max, " letters, digits or any of ", extra,
                      ", begin and end with a letter or digit, and not be a number");
}

std::string KindProblem(absl::string_view text, TextKind kind) {
  switch (kind) {
    case TextKind::kAny:
    case TextKind::kPath:
      return "";
    case TextKind::kName:
      return NameProblem(text, "._-", kNameBytesMax);
    case TextKind::kModelName:
      return NameProblem(text, "._-/:", kModelNameBytesMax);
    case TextKind::kAddress: {
      if (IsWildcard(std::string(text))) {
        return "means every interface: name the cluster's own address";
      }
      const bool ipv6 = absl::StrContains(text, ":");
      const bool valid =
          ParseEndpoint(ipv6 ? absl::StrCat("[", text, "]:1") : absl::StrCat(text, ":1"))
              .has_value();
      return valid ? "" : "is not a host name or IP address";
    }
  }
  return "";
}

}  // namespace

std::string TextProblem(const YamlNode& scalar, const TextRule& rule) {
  const std::string& text = scalar.scalar;
  if (text.empty()) return "is empty: leave the key out instead";
  if (text.size() > kTextBytesMax) return absl::StrCat("is longer than ", kTextBytesMax, " bytes");
  if (HasControls(text)) return "has control characters";
  if (text.front() == ' ' || text.back() == ' ') return "begins or ends with a space";
  if (!rule.choices.empty()) {
    if (std::find(rule.choices.begin(), rule.choices.end(), text) != rule.choices.end()) return "";
    if (std::find(rule.later.begin(), rule.later.end(), text) != rule.later.end()) {
      return absl::StrCat("is not available yet: one of ", absl::StrJoin(rule.choices, ", "));
    }
    const std::string near = Nearest(text, rule.choices);
    return absl::StrCat("must be one of ", absl::StrJoin(rule.choices, ", "),
                        near.empty() ? "" : absl::StrCat(": did you mean \"", near, "\"?"));
  }
  if (rule.kind != TextKind::kAddress && LooksTyped(scalar)) {
    return "is a number or a truth value where text is needed: put it in quotes";
  }
  return KindProblem(text, rule.kind);
}

std::string AbsolutePath(const std::string& folder, const std::string& path) {
  return (std::filesystem::path(folder) / path).lexically_normal().string();
}

bool IsWildcard(const std::string& host) {
  return host == "0.0.0.0" || host == "::" || host == "0" || host == "*";
}

}  // namespace shoal::config
