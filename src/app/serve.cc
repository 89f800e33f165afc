// SPDX-License-Identifier: Apache-2.0
// `shoal serve`: everything this host runs, supervised.
#include <stdlib.h>

#include <filesystem>

#include "absl/strings/str_cat.h"
#include "app/commands.h"
#include "app/config_command.h"
#include "app/secret_files.h"
#include "app/supervisor/supervisor.h"
#include "base/log.h"
#include "base/random.h"
#include "base/status.h"

namespace shoal::app {
namespace {

constexpr absl::Duration kCleanUp = absl::Seconds(5);

absl::Status CheckModelsExist(const config::ClusterConfig& config) {
  for (const config::ModelConfig& model : config.models) {
    if (std::filesystem::exists(model.path)) continue;
    return absl::NotFoundError(absl::StrCat("models: '", model.name, "' has path '", model.path,
                                            "', which does not exist; fetch the model or correct "
                                            "`path`"));
  }
  return absl::OkStatus();
}

SupervisorOptions MakeOptions(const Flags& flags, const config::ClusterConfig& config) {
  std::vector<std::string> common = {config.source_path};
  for (const std::string& override_text : flags.GetAll("set")) {
    common.push_back(absl::StrCat("--set=", override_text));
  }
  SupervisorOptions options;
  options.limits.start = config.deadlines.start;
  options.limits.hang = config.deadlines.hang;
  // Each child has the drain time itself; the margin covers its clean-up.
  options.limits.drain = absl::Seconds(config.drain_seconds) + kCleanUp;
  for (const config::ReplicaConfig& replica : config.replicas) {
    for (int32_t copy = 0; copy < replica.count; ++copy) {
      ProcessSpec spec;
      spec.name = absl::StrCat(replica.name, "/", copy);
      spec.arguments = {"worker"};
      spec.arguments.insert(spec.arguments.end(), common.begin(), common.end());
      spec.arguments.push_back(absl::StrCat("--replica=", replica.name));
      spec.arguments.push_back(absl::StrCat("--copy=", copy));
      options.workers.push_back(std::move(spec));
    }
  }
  options.router.name = "router";
  options.router.arguments = {"router"};
  options.router.arguments.insert(options.router.arguments.end(), common.begin(), common.end());
  return options;
}

absl::Status Run(const Flags& flags) {
  BlockTerminationSignals();
  SHOAL_ASSIGN_OR_RETURN(const config::ClusterConfig config, ReadConfig(flags));
  log::Configure("serve", log::Level::kInfo, "");
  SHOAL_RETURN_IF_ERROR(CheckModelsExist(config));
  SHOAL_ASSIGN_OR_RETURN(const std::vector<std::string> warnings, CheckSecretFiles(config));
  for (const std::string& warning : warnings) log::Warning("{}", warning);
  SHOAL_ASSIGN_OR_RETURN(std::string token, ReadClusterToken(config));
  // All hosts are local: the children inherit a token that nobody else can read.
  if (token.empty()) token = absl::StrCat(HexId(RandomId()), HexId(RandomId()));
  setenv("SHOAL_CLUSTER_TOKEN", token.c_str(), 1);
  Supervisor supervisor(MakeOptions(flags, config));
  return supervisor.Run();
}

}  // namespace

Command ServeCommand() {
  return {.spec = {.name = "serve",
                   .positional = "CONFIG",
                   .summary = "run all of this host's part of the cluster, supervised",
                   .flags = ConfigFlags()},
          .run = Run};
}

}  // namespace shoal::app
