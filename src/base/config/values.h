// SPDX-License-Identifier: Apache-2.0
// The texts a configuration value may be written as: sizes, durations, addresses, numbers.
#pragma once

#include <cstdint>
#include <optional>
#include <string>

#include "absl/strings/string_view.h"
#include "absl/time/time.h"
#include "base/config/cluster_config.h"

namespace shoal::config {

// Decimal digits with an optional minus; nothing else (no 0x, no leading zeros, no "1_000").
std::optional<int64_t> ParseInteger(absl::string_view text);

// "512MiB", "1GiB", "4096" (bytes): a whole number with B, KiB, MiB, GiB, TiB or nothing.
std::optional<int64_t> ParseBytes(absl::string_view text);

// "10s", "500ms", "1h30m": finite, not negative, always with a unit.
std::optional<absl::Duration> ParseDurationText(absl::string_view text);

// "127.0.0.1:8000", "[::1]:8000", "host.example:0".
std::optional<Endpoint> ParseEndpoint(absl::string_view text);

// The largest unit that writes the number whole: "1GiB".
std::string FormatBytes(int64_t bytes);

// The nearest of `candidates` within a few typing errors; "" when none is near. Ties go to the
// first.
template <typename Strings>
std::string Nearest(absl::string_view text, const Strings& candidates);

// Insertions, deletions, replacements and swaps of neighbours that turn `a` into `b`.
int TypingErrors(absl::string_view a, absl::string_view b);

template <typename Strings>
std::string Nearest(absl::string_view text, const Strings& candidates) {
  std::string best;
  int best_errors = text.size() <= 3 ? 2 : 3;  // one more than is accepted
  for (const std::string& candidate : candidates) {
    const int errors = TypingErrors(text, candidate);
    if (errors < best_errors) {
      best_errors = errors;
      best = candidate;
    }
  }
  return best;
}

}  // namespace shoal::config
