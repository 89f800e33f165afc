// SPDX-License-Identifier: Apache-2.0
// `shoal router`: the front ends of the cluster.
#include <sys/resource.h>

#include <cerrno>
#include <cstring>
#include <map>

#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "app/commands.h"
#include "app/config_command.h"
#include "app/supervisor/reporter.h"
#include "base/log.h"
#include "base/status.h"
#include "router/router.h"

namespace shoal::app {
namespace {

// "chat/0=127.0.0.1:4000": where a copy listens when the config leaves its port to the system.
absl::StatusOr<std::map<std::string, config::Endpoint>> ParseAddresses(const Flags& flags) {
  std::map<std::string, config::Endpoint> addresses;
  for (const std::string& text : flags.GetAll("worker-address")) {
    const size_t equals = text.find('=');
    const size_t colon = text.rfind(':');
    int32_t port = 0;
    if (equals == std::string::npos || colon == std::string::npos || colon < equals ||
        !absl::SimpleAtoi(text.substr(colon + 1), &port) || port <= 0 || port > 65535) {
      return absl::InvalidArgumentError(
          absl::StrCat("--worker-address '", text, "' is not NAME/COPY=HOST:PORT"));
    }
    addresses[text.substr(0, equals)] = {text.substr(equals + 1, colon - equals - 1), port};
  }
  return addresses;
}

absl::StatusOr<router::RouterOptions> MakeOptions(const Flags& flags,
                                                  const config::ClusterConfig& config) {
  SHOAL_ASSIGN_OR_RETURN(const auto addresses, ParseAddresses(flags));
  router::RouterOptions options;
  options.cluster = config.cluster;
  options.version = VersionText();
  options.router = config.router;
  options.deadlines = config.deadlines;
  options.failover = config.failover;
  options.models = config.models;
  SHOAL_ASSIGN_OR_RETURN(options.cluster_token, ReadClusterToken(config));
  for (size_t i = 0; i < config.replicas.size(); ++i) {
    for (int32_t copy = 0; copy < config.replicas[i].count; ++copy) {
      const std::string name = absl::StrCat(config.replicas[i].name, "/", copy);
      const auto given = addresses.find(name);
      const config::Endpoint endpoint =
          given != addresses.end() ? given->second : config.WorkerEndpoint(i, copy);
      if (endpoint.port == 0) {
        return absl::InvalidArgumentError(absl::StrCat("ports.base is 0 and the address of ", name,
                                                       " is not given by --worker-address"));
      }
      options.replicas.push_back({name, config.replicas[i].model, endpoint});
    }
  }
  return options;
}

// Every client holds a descriptor, and the usual soft limit is far below `connections_max`.
void RaiseDescriptorLimit() {
  rlimit limit{};
  if (getrlimit(RLIMIT_NOFILE, &limit) != 0) return;
  limit.rlim_cur = limit.rlim_max;
  if (setrlimit(RLIMIT_NOFILE, &limit) != 0) {
    log::Warning("the limit of open files stays: {}", strerror(errno));
  }
}

absl::Status Run(const Flags& flags) {
  BlockTerminationSignals();
  RaiseDescriptorLimit();
  SHOAL_ASSIGN_OR_RETURN(const config::ClusterConfig config, ReadConfig(flags));
  ConfigureLog(config, "router", "router");
  SHOAL_ASSIGN_OR_RETURN(const router::RouterOptions options, MakeOptions(flags, config));
  SHOAL_ASSIGN_OR_RETURN(Reporter reporter, Reporter::Open(flags));
  SHOAL_ASSIGN_OR_RETURN(const std::unique_ptr<router::Router> router,
                         router::StartRouter(options));
  const std::string http = router->http_endpoint().ToString();
  const std::string grpc = router->grpc_endpoint().ToString();
  log::Info("listening on http://{} and grpc://{}", http, grpc);
  SHOAL_RETURN_IF_ERROR(reporter.Announce(absl::StrCat("http://", http, " grpc://", grpc)));
  while (!WaitForTermination(Reporter::kInterval)) reporter.ReportProgress(router->progress());
  reporter.ReportDrain();
  log::Info("draining");
  return router->Drain(absl::Seconds(config.drain_seconds));
}

}  // namespace

Command RouterCommand() {
  std::vector<FlagSpec> options = ConfigFlags();
  options.insert(options.end(),
                 {{.name = "worker-address",
                   .placeholder = "NAME/COPY=HOST:PORT",
                   .help = "where a replica copy listens (repeatable)",
                   .repeated = true},
                  {.name = "announce-fd",
                   .placeholder = "FD",
                   .help = "tell this descriptor the addresses once ready, and then of progress"}});
  return {.spec = {.name = "router",
                   .positional = "CONFIG",
                   .summary = "run the HTTP and gRPC front ends (serve starts it)",
                   .flags = options},
          .run = Run};
}

}  // namespace shoal::app
