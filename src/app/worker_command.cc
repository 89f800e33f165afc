// SPDX-License-Identifier: Apache-2.0
// `shoal worker`: one rank of one replica copy in this process.
#include <algorithm>

#include "absl/strings/str_cat.h"
#include "app/commands.h"
#include "app/config_command.h"
#include "app/supervisor/reporter.h"
#include "base/log.h"
#include "base/status.h"
#include "worker/worker.h"

namespace shoal::app {
namespace {

absl::StatusOr<size_t> FindReplica(const config::ClusterConfig& config, const std::string& name) {
  for (size_t i = 0; i < config.replicas.size(); ++i) {
    if (config.replicas[i].name == name) return i;
  }
  std::string known;
  for (const config::ReplicaConfig& replica : config.replicas) {
    absl::StrAppend(&known, known.empty() ? "" : ", ", replica.name);
  }
  return absl::InvalidArgumentError(
      absl::StrCat("--replica '", name, "' is not in the config; it has: ", known));
}

absl::StatusOr<worker::WorkerOptions> MakeOptions(const Flags& flags,
                                                  const config::ClusterConfig& config) {
  SHOAL_ASSIGN_OR_RETURN(const size_t index, FindReplica(config, flags.Get("replica")));
  const config::ReplicaConfig& replica = config.replicas[index];
  SHOAL_ASSIGN_OR_RETURN(const int64_t copy, flags.GetInt("copy", 0, 0, replica.count - 1));
  SHOAL_ASSIGN_OR_RETURN(const int64_t port, flags.GetInt("port", 0, 0, 65535));
  // Only replicas of one rank exist in this build; the config reader refuses others.
  SHOAL_ASSIGN_OR_RETURN([[maybe_unused]] const int64_t rank, flags.GetInt("rank", 0, 0, 0));
  worker::WorkerOptions options;
  const config::ModelConfig* model = config.FindModel(replica.model);
  options.model_name = model->name;
  options.model_path = model->path;
  options.replica = replica;
  options.deadlines = config.deadlines;
  options.listen = config.WorkerEndpoint(index, static_cast<int32_t>(copy));
  if (port != 0) options.listen.port = static_cast<int32_t>(port);
  SHOAL_ASSIGN_OR_RETURN(options.cluster_token, ReadClusterToken(config));
  return options;
}

absl::Status Run(const Flags& flags) {
  BlockTerminationSignals();
  SHOAL_ASSIGN_OR_RETURN(const config::ClusterConfig config, ReadConfig(flags));
  const std::string name = absl::StrCat(flags.Get("replica"), "/", flags.Get("copy", "0"));
  std::string file_stem = absl::StrCat("worker-", name);
  std::replace(file_stem.begin(), file_stem.end(), '/', '-');
  ConfigureLog(config, absl::StrCat("worker ", name), file_stem);
  SHOAL_ASSIGN_OR_RETURN(const worker::WorkerOptions options, MakeOptions(flags, config));
  SHOAL_ASSIGN_OR_RETURN(Reporter reporter, Reporter::Open(flags));
  SHOAL_ASSIGN_OR_RETURN(const std::unique_ptr<worker::Worker> worker,
                         worker::StartWorker(options));
  const std::string address = worker->endpoint().ToString();
  log::Info("serving {} on {}", options.model_name, address);
  SHOAL_RETURN_IF_ERROR(reporter.Announce(address));
  // A failed rank ends this process, so that the supervisor replaces it.
  while (!WaitForTermination(Reporter::kInterval)) {
    SHOAL_RETURN_IF_ERROR(worker->AwaitFailure(absl::ZeroDuration()));
    reporter.ReportProgress(worker->steps());
  }
  reporter.ReportDrain();
  log::Info("draining");
  return worker->Drain(absl::Seconds(config.drain_seconds));
}

}  // namespace

Command WorkerCommand() {
  std::vector<FlagSpec> options = ConfigFlags();
  options.insert(
      options.end(),
      {{.name = "replica", .placeholder = "NAME", .help = "entry of replicas to run"},
       {.name = "copy", .placeholder = "I", .help = "which copy of it (default 0)"},
       {.name = "rank", .placeholder = "R", .help = "which rank of the copy (default 0)"},
       {.name = "port", .placeholder = "PORT", .help = "listen here instead"},
       {.name = "announce-fd",
        .placeholder = "FD",
        .help = "tell this descriptor the address once ready, and then of progress"}});
  return {.spec = {.name = "worker",
                   .positional = "CONFIG",
                   .summary = "run one rank of a replica (serve starts these)",
                   .flags = options},
          .run = Run};
}

}  // namespace shoal::app
