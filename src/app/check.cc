// SPDX-License-Identifier: Apache-2.0
// `shoal check`: proves before launch that a config fits: bytes per rank, with the arithmetic
// shown.
#include <cstdio>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "app/commands.h"
#include "app/config_command.h"
#include "app/secret_files.h"
#include "base/status.h"
#include "kernels/backend.h"
#include "model/decoder.h"
#include "nlohmann/json.hpp"
#include "worker/kv/kv_cache.h"
#include "worker/memory_check.h"
#include "worker/profile.h"

namespace shoal::app {
namespace {

using nlohmann::json;

// What each copy of a replica entry takes.
struct ReplicaBytes {
  std::string name;
  std::string model;
  int32_t copies = 0;
  std::vector<std::pair<std::string, int64_t>> uses;  // of one rank
  int64_t kv_tokens = 0;
  int64_t kv_bytes_per_token = 0;
  int64_t max_context = 0;
  std::string fingerprint;

  int64_t rank_bytes() const {
    int64_t total = 0;
    for (const auto& use : uses) total += use.second;
    return total;
  }
};

absl::StatusOr<ReplicaBytes> Measure(const config::ClusterConfig& config,
                                     const config::ReplicaConfig& replica) {
  ReplicaBytes bytes;
  bytes.name = replica.name;
  bytes.model = replica.model;
  bytes.copies = replica.count;
  SHOAL_ASSIGN_OR_RETURN(const auto model, model::OpenModel(config.FindModel(replica.model)->path));
  SHOAL_ASSIGN_OR_RETURN(const model::NumericsOptions numerics,
                         worker::ResolveNumerics(*model, replica));
  SHOAL_ASSIGN_OR_RETURN(const auto backend, kernels::CreateBackend(replica.device));
  SHOAL_ASSIGN_OR_RETURN(const worker::KvPlan kv,
                         worker::PlanKv(model->spec(), replica.engine, numerics.kv_dtype));
  SHOAL_ASSIGN_OR_RETURN(
      bytes.uses,
      model->PlanMemory(*backend, {.numerics = numerics,
                                   .max_batch_tokens = replica.engine.max_batch_tokens,
                                   .max_logits_rows = worker::LogitsRowsMax(replica.engine)}));
  for (const worker::KvGroupPlan& group : kv.groups) {
    bytes.uses.emplace_back(absl::StrCat(group.arena, ": ", group.blocks, " blocks x ",
                                         group.layout.BlockBytes(), " bytes"),
                            group.bytes());
  }
  bytes.kv_tokens = kv.pool_tokens();
  bytes.kv_bytes_per_token = model->spec().KvBytesPerToken(kernels::ByteSize(numerics.kv_dtype));
  SHOAL_ASSIGN_OR_RETURN(bytes.max_context, worker::ResolveContext(replica.engine, model->spec()));
  bytes.fingerprint = worker::SystemFingerprint(model->weights_digest(), replica.device, numerics);
  return bytes;
}

absl::Status CheckHost(const std::vector<ReplicaBytes>& replicas, int64_t available) {
  std::vector<std::pair<std::string, int64_t>> uses;
  for (const ReplicaBytes& replica : replicas) {
    uses.emplace_back(absl::StrCat("replica ", replica.name, ", ", replica.copies, " x ",
                                   replica.rank_bytes(), " bytes"),
                      replica.copies * replica.rank_bytes());
  }
  return worker::CheckMemory(uses, available);
}

void Print(const std::vector<ReplicaBytes>& replicas, int64_t available) {
  int64_t total = 0;
  for (const ReplicaBytes& replica : replicas) {
    std::printf("replica %s: model %s, %d %s, profile %s\n", replica.name.c_str(),
                replica.model.c_str(), replica.copies, replica.copies == 1 ? "copy" : "copies",
                replica.fingerprint.c_str());
    for (const auto& [name, bytes] : replica.uses) {
      std::printf("  rank 0  %16lld  %s\n", static_cast<long long>(bytes), name.c_str());
    }
    std::printf("  rank 0  %16lld  total\n", static_cast<long long>(replica.rank_bytes()));
    std::printf("  KV memory holds %lld tokens (%lld bytes each); context %lld\n",
                static_cast<long long>(replica.kv_tokens),
                static_cast<long long>(replica.kv_bytes_per_token),
                static_cast<long long>(replica.max_context));
    total += replica.copies * replica.rank_bytes();
  }
  std::printf("this host: %lld of %lld bytes available\n", static_cast<long long>(total),
              static_cast<long long>(available));
}

json ToJson(const std::vector<ReplicaBytes>& replicas, const std::vector<std::string>& warnings,
            int64_t available, bool fits) {
  json list = json::array();
  for (const ReplicaBytes& replica : replicas) {
    json uses = json::object();
    for (const auto& [name, bytes] : replica.uses) uses[name] = bytes;
    list.push_back({{"name", replica.name},
                    {"model", replica.model},
                    {"copies", replica.copies},
                    {"rank_bytes", replica.rank_bytes()},
                    {"uses", uses},
                    {"kv_tokens", replica.kv_tokens},
                    {"kv_bytes_per_token", replica.kv_bytes_per_token},
                    {"max_context", replica.max_context},
                    {"system_fingerprint", replica.fingerprint}});
  }
  return {
      {"replicas", list}, {"available_bytes", available}, {"fits", fits}, {"warnings", warnings}};
}

absl::Status Run(const Flags& flags) {
  SHOAL_ASSIGN_OR_RETURN(const config::ClusterConfig config, ReadConfig(flags));
  SHOAL_ASSIGN_OR_RETURN(const std::vector<std::string> warnings, CheckSecretFiles(config));
  std::vector<ReplicaBytes> replicas;
  for (const config::ReplicaConfig& replica : config.replicas) {
    absl::StatusOr<ReplicaBytes> bytes = Measure(config, replica);
    if (!bytes.ok()) return Annotate(bytes.status(), absl::StrCat("replicas.", replica.name));
    replicas.push_back(*std::move(bytes));
  }
  const int64_t available = worker::AvailableMemoryBytes();
  const absl::Status fits = CheckHost(replicas, available);
  if (flags.Has("json")) {
    std::puts(ToJson(replicas, warnings, available, fits.ok())
                  .dump(2, ' ', false, json::error_handler_t::replace)
                  .c_str());
  } else {
    Print(replicas, available);
    for (const std::string& warning : warnings) std::printf("warning: %s\n", warning.c_str());
    if (fits.ok()) std::puts("ok: it fits");
  }
  return fits;
}

}  // namespace

Command CheckCommand() {
  std::vector<FlagSpec> options = ConfigFlags();
  options.push_back({.name = "json", .placeholder = "", .help = "print JSON"});
  return {.spec = {.name = "check",
                   .positional = "CONFIG",
                   .summary = "prove that a config fits before it is launched",
                   .flags = options},
          .run = Run};
}

}  // namespace shoal::app
