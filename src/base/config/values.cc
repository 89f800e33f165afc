// SPDX-License-Identifier: Apache-2.0
#include "base/config/values.h"

#include <algorithm>
#include <array>
#include <utility>
#include <vector>

#include "absl/strings/ascii.h"
#include "absl/strings/match.h"
#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"

namespace shoal::config {
namespace {

constexpr size_t kCompareBytesMax = 64;  // longer keys are nobody's typing error
constexpr size_t kHostBytesMax = 253;    // of a DNS name
constexpr std::array<std::pair<absl::string_view, int64_t>, 4> kUnits = {{
    {"TiB", int64_t{1} << 40},
    {"GiB", int64_t{1} << 30},
    {"MiB", int64_t{1} << 20},
    {"KiB", int64_t{1} << 10},
}};

bool IsHost(absl::string_view host) {
  if (host.empty() || host.size() > kHostBytesMax) return false;
  return std::all_of(host.begin(), host.end(), [](char c) {
    return absl::ascii_isalnum(static_cast<unsigned char>(c)) || c == '.' || c == '-' || c == '_';
  });
}

bool IsIpv6(absl::string_view host) {
  if (host.size() < 2 || host.size() > kHostBytesMax) return false;
  return std::all_of(host.begin(), host.end(), [](char c) {
    return absl::ascii_isxdigit(static_cast<unsigned char>(c)) || c == ':' || c == '.';
  });
}

}  // namespace

std::optional<int64_t> ParseInteger(absl::string_view text) {
  absl::string_view digits = text;
  if (absl::StartsWith(digits, "-")) digits.remove_prefix(1);
  if (digits.empty() || (digits.size() > 1 && digits[0] == '0')) return std::nullopt;
  for (const char c : digits) {
    if (!absl::ascii_isdigit(static_cast<unsigned char>(c))) return std::nullopt;
  }
  int64_t number = 0;
  if (!absl::SimpleAtoi(text, &number)) return std::nullopt;
  return number;
}

std::optional<int64_t> ParseBytes(absl::string_view text) {
  int64_t unit = 1;
  for (const auto& [suffix, bytes] : kUnits) {
    if (absl::EndsWith(text, suffix)) {
      unit = bytes;
      text.remove_suffix(suffix.size());
      break;
    }
  }
  if (unit == 1 && absl::EndsWith(text, "B")) text.remove_suffix(1);
  const std::optional<int64_t> number = ParseInteger(text);
  int64_t bytes = 0;
  if (!number.has_value() || *number < 0) return std::nullopt;
  if (__builtin_mul_overflow(*number, unit, &bytes)) return std::nullopt;
  return bytes;
}

std::optional<absl::Duration> ParseDurationText(absl::string_view text) {
  absl::Duration duration;
  if (text == "0" || text == "-0" || text == "+0") return std::nullopt;
  if (!absl::ParseDuration(std::string(text), &duration)) return std::nullopt;
  if (duration < absl::ZeroDuration() || duration == absl::InfiniteDuration()) return std::nullopt;
  return duration;
}

std::optional<Endpoint> ParseEndpoint(absl::string_view text) {
  const size_t colon = text.rfind(':');
  if (colon == absl::string_view::npos) return std::nullopt;
  absl::string_view host = text.substr(0, colon);
  const std::optional<int64_t> port = ParseInteger(text.substr(colon + 1));
  if (!port.has_value() || *port < 0 || *port > 65535) return std::nullopt;
  if (absl::StartsWith(host, "[") && absl::EndsWith(host, "]")) {
    host = host.substr(1, host.size() - 2);
    if (!IsIpv6(host)) return std::nullopt;
  } else if (!IsHost(host)) {
    return std::nullopt;
  }
  return Endpoint{.host = std::string(host), .port = static_cast<int32_t>(*port)};
}

std::string FormatBytes(int64_t bytes) {
  for (const auto& [suffix, unit] : kUnits) {
    if (bytes >= unit && bytes % unit == 0) return absl::StrCat(bytes / unit, suffix);
  }
  return absl::StrCat(bytes, "B");
}

int TypingErrors(absl::string_view a, absl::string_view b) {
  if (std::max(a.size(), b.size()) > kCompareBytesMax) return kCompareBytesMax;
  // rows[i][j]: errors between the first i bytes of a and the first j of b.
  std::vector<std::vector<int>> rows(a.size() + 1, std::vector<int>(b.size() + 1));
  for (size_t i = 0; i <= a.size(); ++i) rows[i][0] = static_cast<int>(i);
  for (size_t j = 0; j <= b.size(); ++j) rows[0][j] = static_cast<int>(j);
  for (size_t i = 1; i <= a.size(); ++i) {
    for (size_t j = 1; j <= b.size(); ++j) {
      const int replace = rows[i - 1][j - 1] + (a[i - 1] == b[j - 1] ? 0 : 1);
      int best = std::min({replace, rows[i - 1][j] + 1, rows[i][j - 1] + 1});
      if (i > 1 && j > 1 && a[i - 1] == b[j - 2] && a[i - 2] == b[j - 1]) {
        best = std::min(best, rows[i - 2][j - 2] + 1);
      }
      rows[i][j] = best;
    }
  }
  return rows[a.size()][b.size()];
}

}  // namespace shoal::config
