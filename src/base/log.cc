// SPDX-License-Identifier: Apache-2.0
#include "base/log.h"

#include <memory>
#include <utility>

#include "absl/base/thread_annotations.h"
#include "base/mutex.h"
#include "spdlog/pattern_formatter.h"
#include "spdlog/sinks/basic_file_sink.h"
#include "spdlog/sinks/stdout_sinks.h"
#include "spdlog/spdlog.h"

namespace shoal::log {
namespace {

spdlog::level::level_enum ToSpdlog(Level level) {
  switch (level) {
    case Level::kDebug:
      return spdlog::level::debug;
    case Level::kInfo:
      return spdlog::level::info;
    case Level::kWarning:
      return spdlog::level::warn;
    case Level::kError:
      return spdlog::level::err;
  }
  return spdlog::level::err;
}

std::shared_ptr<spdlog::logger> MakeLogger(const std::string& component, spdlog::sink_ptr sink) {
  auto logger = std::make_shared<spdlog::logger>("shoal", std::move(sink));
  std::string pattern = "%Y-%m-%dT%H:%M:%S.%eZ %L ";
  for (const char c : component) pattern += c == '%' ? "%%" : std::string(1, c);
  pattern += component.empty() ? "%v" : ": %v";
  logger->set_formatter(
      std::make_unique<spdlog::pattern_formatter>(pattern, spdlog::pattern_time_type::utc));
  logger->flush_on(spdlog::level::debug);
  return logger;
}

// One line per message whatever it carries: text of a client must not forge log lines.
std::string EscapeControls(const std::string& message) {
  static constexpr char kHex[] = "0123456789abcdef";
  std::string out;
  out.reserve(message.size());
  for (const char c : message) {
    const auto byte = static_cast<unsigned char>(c);
    if (byte >= 0x20 && byte != 0x7f) {
      out += c;
    } else if (c == '\n') {
      out += "\\n";
    } else if (c == '\t') {
      out += "\\t";
    } else {
      out += {'\\', 'x', kHex[byte >> 4], kHex[byte & 15]};
    }
  }
  return out;
}

struct State {
  Mutex mutex;
  std::shared_ptr<spdlog::logger> logger ABSL_GUARDED_BY(mutex) =
      MakeLogger("", std::make_shared<spdlog::sinks::stderr_sink_mt>());
};

// Never destroyed: threads may log while the process exits.
State& GlobalState() {
  static State& state = *new State;
  return state;
}

}  // namespace

void Configure(const std::string& component, Level level, const std::string& file) {
  std::string failure;
  spdlog::sink_ptr sink;
  if (!file.empty()) {
    try {
      sink = std::make_shared<spdlog::sinks::basic_file_sink_mt>(file);
    } catch (const spdlog::spdlog_ex& error) {
      failure = error.what();
    }
  }
  if (sink == nullptr) sink = std::make_shared<spdlog::sinks::stderr_sink_mt>();
  auto logger = MakeLogger(component, std::move(sink));
  logger->set_level(ToSpdlog(level));
  {
    State& state = GlobalState();
    MutexLock lock(&state.mutex);
    state.logger = std::move(logger);
  }
  if (!failure.empty()) Error("log file {} cannot be used, logging here: {}", file, failure);
}

void Write(Level level, const std::string& message) {
  std::shared_ptr<spdlog::logger> logger;
  {
    State& state = GlobalState();
    MutexLock lock(&state.mutex);
    logger = state.logger;
  }
  const spdlog::level::level_enum target = ToSpdlog(level);
  if (logger->should_log(target)) logger->log(target, EscapeControls(message));
}

}  // namespace shoal::log
