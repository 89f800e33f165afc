// SPDX-License-Identifier: Apache-2.0
// `shoal bench`: measures any OpenAI-compatible server.
#include <sys/resource.h>
#include <unistd.h>

#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <fstream>
#include <sstream>

#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "absl/strings/str_split.h"
#include "app/bench/load_generator.h"
#include "app/bench/report.h"
#include "app/bench/workload.h"
#include "app/commands.h"
#include "base/status.h"
#include "nlohmann/json.hpp"

namespace shoal::app {
namespace {

constexpr int64_t kRequestsMax = 1'000'000;
constexpr int64_t kTokensMax = 1 << 22;
constexpr int64_t kConcurrencyMax = 65'536;
constexpr rlim_t kSpareDescriptors = 64;

// "N" or "MIN:MAX".
absl::StatusOr<LengthRange> GetRange(const Flags& flags, const std::string& name,
                                     LengthRange fallback) {
  if (!flags.Has(name)) return fallback;
  const std::string text = flags.Get(name);
  const std::vector<std::string> parts = absl::StrSplit(text, ':');
  LengthRange range;
  if (parts.size() > 2 || !absl::SimpleAtoi(parts.front(), &range.min) ||
      !absl::SimpleAtoi(parts.back(), &range.max)) {
    return absl::InvalidArgumentError(
        absl::StrCat("--", name, " is '", text, "', not N or MIN:MAX"));
  }
  return range;
}

absl::Status ReadArrivals(const Flags& flags, WorkloadOptions& options) {
  SHOAL_ASSIGN_OR_RETURN(options.rate, flags.GetDouble("rate", 0, 0, 1e6));
  if (flags.Has("trace")) {
    if (flags.Has("rate"))
      return absl::InvalidArgumentError("--trace and --rate exclude each other");
    options.arrivals = Arrivals::kTrace;
  } else if (flags.Has("rate")) {
    options.arrivals = flags.Has("uniform") ? Arrivals::kUniform : Arrivals::kPoisson;
  } else if (flags.Has("uniform")) {
    return absl::InvalidArgumentError("--uniform needs --rate");
  }
  return absl::OkStatus();
}

absl::StatusOr<WorkloadOptions> ReadWorkload(const Flags& flags) {
  WorkloadOptions options;
  SHOAL_RETURN_IF_ERROR(ReadArrivals(flags, options));
  SHOAL_ASSIGN_OR_RETURN(options.requests, flags.GetInt("requests", 100, 1, kRequestsMax));
  SHOAL_ASSIGN_OR_RETURN(options.warmup, flags.GetInt("warmup", 0, 0, kRequestsMax));
  SHOAL_ASSIGN_OR_RETURN(options.prompt, GetRange(flags, "prompt-tokens", options.prompt));
  SHOAL_ASSIGN_OR_RETURN(options.output, GetRange(flags, "output-tokens", options.output));
  SHOAL_ASSIGN_OR_RETURN(options.shared_prefix, flags.GetInt("shared-prefix", 0, 0, kTokensMax));
  SHOAL_ASSIGN_OR_RETURN(options.prefix_groups, flags.GetInt("prefix-groups", 1, 1, kRequestsMax));
  SHOAL_ASSIGN_OR_RETURN(
      const LengthRange ids,
      GetRange(flags, "token-range", {.min = options.first_token, .max = options.end_token}));
  if (ids.min < 0 || ids.max > INT32_MAX) {
    return absl::InvalidArgumentError("--token-range is outside the token ids there can be");
  }
  options.first_token = static_cast<int32_t>(ids.min);
  options.end_token = static_cast<int32_t>(ids.max);
  SHOAL_ASSIGN_OR_RETURN(const int64_t seed, flags.GetInt("seed", 1, 0, INT64_MAX));
  options.seed = static_cast<uint64_t>(seed);
  return options;
}

absl::StatusOr<std::vector<TraceRow>> ReadTrace(const Flags& flags) {
  if (!flags.Has("trace")) return std::vector<TraceRow>{};
  const std::string path = flags.Get("trace");
  std::ifstream file(path);
  std::stringstream text;
  text << file.rdbuf();
  if (!file) return absl::NotFoundError(absl::StrCat("--trace ", path, " cannot be read"));
  absl::StatusOr<std::vector<TraceRow>> rows = ParseTrace(text.str());
  if (!rows.ok()) return Annotate(rows.status(), absl::StrCat("--trace ", path));
  return rows;
}

absl::StatusOr<Slo> ReadSlo(const Flags& flags) {
  Slo slo;
  const auto read = [&](const char* name, std::optional<double>& limit) -> absl::Status {
    if (!flags.Has(name)) return absl::OkStatus();
    SHOAL_ASSIGN_OR_RETURN(limit, flags.GetDouble(name, 0, 0, 1e9));
    return absl::OkStatus();
  };
  SHOAL_RETURN_IF_ERROR(read("slo-ttft-ms", slo.ttft_ms));
  SHOAL_RETURN_IF_ERROR(read("slo-tpot-ms", slo.tpot_ms));
  SHOAL_RETURN_IF_ERROR(read("slo-e2e-ms", slo.e2e_ms));
  return slo;
}

absl::StatusOr<LoadOptions> ReadLoad(const Flags& flags, bool open_loop) {
  const char* key = std::getenv("SHOAL_API_KEY");
  LoadOptions options;
  options.url = flags.Get("url", "http://127.0.0.1:8000");
  while (!options.url.empty() && options.url.back() == '/') options.url.pop_back();
  options.api_key = key == nullptr ? "" : key;
  SHOAL_ASSIGN_OR_RETURN(options.temperature, flags.GetDouble("temperature", 0, 0, 2));
  SHOAL_ASSIGN_OR_RETURN(
      options.concurrency,
      flags.GetInt("concurrency", open_loop ? kConcurrencyMax : 16, 1, kConcurrencyMax));
  SHOAL_ASSIGN_OR_RETURN(options.timeout_seconds, flags.GetDouble("timeout", 600, 1, 1e6));
  options.model = flags.Get("model");
  if (options.model.empty()) {
    SHOAL_ASSIGN_OR_RETURN(options.model, FirstModel(options));
  }
  return options;
}

// Every stream is a connection.
void RaiseDescriptorLimit(int64_t streams) {
  rlimit limit{};
  if (getrlimit(RLIMIT_NOFILE, &limit) != 0) return;
  const rlim_t wanted = static_cast<rlim_t>(streams) + kSpareDescriptors;
  if (limit.rlim_cur >= wanted) return;
  limit.rlim_cur = std::min(wanted, limit.rlim_max);
  (void)setrlimit(RLIMIT_NOFILE, &limit);  // a connection that fails for it says so
}

void ShowProgress(const Progress& progress) {
  std::fprintf(stderr, "\r%6.1f s  %lld/%lld done, %lld running, %lld failed ", progress.seconds,
               static_cast<long long>(progress.done), static_cast<long long>(progress.total),
               static_cast<long long>(progress.running), static_cast<long long>(progress.failed));
  if (progress.done == progress.total) std::fputc('\n', stderr);
}

absl::Status Run(const Flags& flags) {
  SHOAL_ASSIGN_OR_RETURN(const WorkloadOptions workload, ReadWorkload(flags));
  SHOAL_ASSIGN_OR_RETURN(const std::vector<TraceRow> trace, ReadTrace(flags));
  SHOAL_ASSIGN_OR_RETURN(const std::vector<PlannedRequest> requests, PlanWorkload(workload, trace));
  SHOAL_ASSIGN_OR_RETURN(const Slo slo, ReadSlo(flags));
  const bool open_loop = workload.arrivals != Arrivals::kClosed;
  SHOAL_ASSIGN_OR_RETURN(const LoadOptions load, ReadLoad(flags, open_loop));
  RaiseDescriptorLimit(std::min(load.concurrency, static_cast<int64_t>(requests.size())));
  const bool terminal = isatty(STDERR_FILENO) != 0;
  SHOAL_ASSIGN_OR_RETURN(const std::vector<RequestRecord> records,
                         GenerateLoad(load, requests, [&](const Progress& progress) {
                           if (terminal) ShowProgress(progress);
                         }));
  const Report report = MakeReport(records, slo);
  const std::string text = flags.Has("json") ? ToJson(report).dump(2) + "\n" : ToText(report);
  std::fputs(text.c_str(), stdout);
  if (report.failed == 0) return absl::OkStatus();
  return absl::UnavailableError(absl::StrCat(report.failed, " of ", report.requests,
                                             " requests failed: ", report.errors.front()));
}

}  // namespace

Command BenchCommand() {
  return {
      .spec =
          {.name = "bench",
           .positional = "",
           .summary = "measure an OpenAI-compatible server (key for it: SHOAL_API_KEY)",
           .flags = {{.name = "url",
                      .placeholder = "URL",
                      .help = "http://host:port (http://127.0.0.1:8000)"},
                     {.name = "model", .placeholder = "NAME", .help = "default: the first"},
                     {.name = "requests", .placeholder = "N", .help = "how many (100)"},
                     {.name = "warmup",
                      .placeholder = "N",
                      .help = "the first N are sent and not counted (0)"},
                     {.name = "concurrency",
                      .placeholder = "N",
                      .help = "streams at once: closed loop (16), or the bound of an open loop"},
                     {.name = "rate",
                      .placeholder = "R",
                      .help = "open loop: requests per second, Poisson arrivals"},
                     {.name = "uniform", .placeholder = "", .help = "with --rate: even arrivals"},
                     {.name = "trace",
                      .placeholder = "FILE",
                      .help = "open loop: lines arrival_seconds,prompt_tokens,output_tokens"},
                     {.name = "prompt-tokens", .placeholder = "N|A:B", .help = "length (512)"},
                     {.name = "output-tokens", .placeholder = "N|A:B", .help = "length (128)"},
                     {.name = "shared-prefix",
                      .placeholder = "N",
                      .help = "prompts of a group start with the same N tokens (0)"},
                     {.name = "prefix-groups", .placeholder = "N", .help = "groups (1)"},
                     {.name = "token-range",
                      .placeholder = "A:B",
                      .help = "prompt token ids are drawn from [A, B) (100:300)"},
                     {.name = "temperature", .placeholder = "T", .help = "0 (default) to 2"},
                     {.name = "seed", .placeholder = "N", .help = "of the workload (1)"},
                     {.name = "timeout", .placeholder = "S", .help = "of one request (600)"},
                     {.name = "slo-ttft-ms", .placeholder = "MS", .help = "for goodput"},
                     {.name = "slo-tpot-ms", .placeholder = "MS", .help = "for goodput"},
                     {.name = "slo-e2e-ms", .placeholder = "MS", .help = "for goodput"},
                     {.name = "json", .placeholder = "", .help = "the report as JSON"}}},
      .run = Run};
}

}  // namespace shoal::app
