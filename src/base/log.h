// SPDX-License-Identifier: Apache-2.0
// Log lines: "2026-11-30T22:40:01.123Z I router: message". Thread-safe.
#pragma once

#include <string>

#include "spdlog/fmt/fmt.h"

namespace shoal::log {

enum class Level { kDebug, kInfo, kWarning, kError };

// `component` names the process ("router", "worker chat/0"); an empty `file` means standard error.
void Configure(const std::string& component, Level level, const std::string& file);
void Write(Level level, const std::string& message);

template <typename... Args>
void Debug(fmt::format_string<Args...> format, Args&&... args) {
  Write(Level::kDebug, fmt::format(format, std::forward<Args>(args)...));
}
template <typename... Args>
void Info(fmt::format_string<Args...> format, Args&&... args) {
  Write(Level::kInfo, fmt::format(format, std::forward<Args>(args)...));
}
template <typename... Args>
void Warning(fmt::format_string<Args...> format, Args&&... args) {
  Write(Level::kWarning, fmt::format(format, std::forward<Args>(args)...));
}
template <typename... Args>
void Error(fmt::format_string<Args...> format, Args&&... args) {
  Write(Level::kError, fmt::format(format, std::forward<Args>(args)...));
}

}  // namespace shoal::log
