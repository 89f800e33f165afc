// SPDX-License-Identifier: Apache-2.0
#include "app/config_command.h"

#include <signal.h>

#include <cstdlib>

#include "absl/strings/str_cat.h"
#include "app/commands.h"
#include "app/secret_files.h"
#include "base/log.h"
#include "base/status.h"

namespace shoal::app {
namespace {

sigset_t TerminationSignals() {
  sigset_t set;
  sigemptyset(&set);
  sigaddset(&set, SIGTERM);
  sigaddset(&set, SIGINT);
  return set;
}

}  // namespace

std::vector<FlagSpec> ConfigFlags() {
  return {{.name = "set",
           .placeholder = "KEY=VALUE",
           .help = "override a key of the config (repeatable)",
           .repeated = true}};
}

absl::StatusOr<config::ClusterConfig> ReadConfig(const Flags& flags) {
  return config::ReadClusterConfig(flags.positional(), flags.GetAll("set"));
}

absl::StatusOr<std::string> ReadClusterToken(const config::ClusterConfig& config) {
  if (const char* token = std::getenv("SHOAL_CLUSTER_TOKEN"); token != nullptr && *token != '\0') {
    return std::string(token);
  }
  return ReadClusterTokenFile(config);
}

void ConfigureLog(const config::ClusterConfig& config, const std::string& component,
                  const std::string& file_stem) {
  const auto host = config.hosts.find("localhost");
  const std::string directory = host == config.hosts.end() ? "" : host->second.log;
  log::Configure(component, log::Level::kInfo,
                 directory.empty() ? "" : absl::StrCat(directory, "/", file_stem, ".log"));
}

void BlockTerminationSignals() {
  const sigset_t set = TerminationSignals();
  pthread_sigmask(SIG_BLOCK, &set, nullptr);
  signal(SIGPIPE, SIG_IGN);
}

bool WaitForTermination(absl::Duration timeout) {
  const sigset_t set = TerminationSignals();
  const timespec limit = absl::ToTimespec(timeout);
  return sigtimedwait(&set, nullptr, &limit) > 0;
}

}  // namespace shoal::app
