// SPDX-License-Identifier: Apache-2.0
#include "base/config/validate.h"

#include <map>
#include <set>
#include <string>
#include <vector>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "base/config/placement.h"
#include "base/config/values.h"

namespace shoal::config {
namespace {

constexpr int64_t kPortMax = 65535;
constexpr int64_t kRanksMax = 4096;

template <typename Item>
void CheckNames(const std::string& list, const std::vector<Item>& items, Problems& problems) {
  std::map<std::string, size_t> first;
  for (size_t i = 0; i < items.size(); ++i) {
    const auto [entry, is_new] = first.emplace(items[i].name, i);
    if (!is_new) {
      problems.Add(absl::StrCat(list, ".", i, ".name"),
                   absl::StrCat(Shown(items[i].name), " is the name of ", list, ".", entry->second,
                                " already"));
    }
  }
}

void CheckModelReferences(const ClusterConfig& config, Problems& problems) {
  std::vector<std::string> names;
  std::set<std::string> served;
  bool dangling = false;
  for (const ModelConfig& model : config.models) names.push_back(model.name);
  for (size_t i = 0; i < config.replicas.size(); ++i) {
    const std::string& model = config.replicas[i].model;
    served.insert(model);
    if (config.FindModel(model) != nullptr) continue;
    dangling = true;
    const std::string near = Nearest(model, names);
    problems.Add(absl::StrCat("replicas.", i, ".model"),
                 absl::StrCat(Shown(model), " is not in models",
                              near.empty() ? absl::StrCat(" (", absl::StrJoin(names, ", "), ")")
                                           : absl::StrCat(": did you mean ", Shown(near), "?")));
  }
  // A dangling reference explains an unserved model: it alone is told.
  if (dangling) return;
  for (size_t i = 0; i < names.size(); ++i) {
    if (served.contains(names[i])) continue;
    problems.Add(absl::StrCat("models.", i, ".name"),
                 absl::StrCat(Shown(names[i]), " is served by no replica: add one or remove it"));
  }
}

void CheckHosts(const ClusterConfig& config, Problems& problems) {
  std::set<std::string> used = {"localhost"};
  for (size_t i = 0; i < config.replicas.size(); ++i) {
    const std::vector<std::string>& hosts = config.replicas[i].hosts;
    const std::string path = absl::StrCat("replicas.", i, ".hosts");
    if (hosts.empty()) problems.Add(path, "is an empty list: name a host");
    if (hosts.size() > 1) {
      problems.Add(path,
                   absl::StrCat(hosts.size(), " hosts are not available yet: one, localhost"));
    } else if (hosts.size() == 1 && !IsLocalHost(hosts[0])) {
      problems.Add(path, absl::StrCat(Shown(hosts[0]), " is not available yet: only localhost"));
    }
    used.insert(hosts.begin(), hosts.end());
  }
  for (const auto& [name, host] : config.hosts) {
    if (used.contains(name)) continue;
    const std::string near = Nearest(name, used);
    problems.Add(
        absl::StrCat("hosts.", name),
        absl::StrCat("no replica runs on ", Shown(name),
                     near.empty() ? "" : absl::StrCat(": did you mean ", Shown(near), "?")));
  }
}

void CheckPorts(const ClusterConfig& config, Problems& problems) {
  const Endpoint& http = config.router.http;
  const Endpoint& grpc = config.router.grpc;
  if (http.port != 0 && http.port == grpc.port) {
    problems.Add("router.grpc", absl::StrCat("port ", grpc.port, " is router.http's already"));
  }
  const int64_t ranks = TotalRanks(config);
  if (ranks > kRanksMax) {
    problems.Add("replicas", absl::StrCat(ranks,
                                          " ranks (the sum of count times tensor times "
                                          "pipeline times data), at most ",
                                          kRanksMax));
    return;
  }
  if (config.base_port == 0) return;
  const int64_t first = config.base_port;
  const int64_t last = first + ranks - 1;
  if (last > kPortMax) {
    problems.Add("ports.base", absl::StrCat(first, " and ", ranks, " ranks end at port ", last,
                                            ", at most ", kPortMax));
  }
  const auto check = [&](const std::string& key, int64_t port) {
    if (port < first || port > last) return;
    problems.Add("ports.base", absl::StrCat("the workers' ports ", first, " to ", last,
                                            " (one for "
                                            "each of ",
                                            ranks, " ranks) include port ", port, " of ", key));
  };
  check("router.http", http.port);
  check("router.grpc", grpc.port);
}

void CheckOrigins(const ClusterConfig& config, Problems& problems) {
  const std::vector<std::string>& origins = config.router.cors_origins;
  for (size_t i = 0; i < origins.size(); ++i) {
    const std::string& origin = origins[i];
    const size_t scheme = origin.find("://");
    const bool valid =
        origin == "*" ||
        ((absl::StartsWith(origin, "http://") || absl::StartsWith(origin, "https://")) &&
         origin.size() > scheme + 3 && origin.find_first_of("/ ", scheme + 3) == std::string::npos);
    if (!valid) {
      problems.Add(
          absl::StrCat("router.cors_origins.", i),
          absl::StrCat(Shown(origin), " is not \"*\" or an origin such as https://chat.example"));
    }
  }
}

void CheckDeadlines(const ClusterConfig& config, Problems& problems) {
  const DeadlineConfig& deadlines = config.deadlines;
  if (deadlines.hang >= deadlines.step) return;
  problems.Add("deadlines.hang",
               absl::StrCat(absl::FormatDuration(deadlines.hang), " is shorter than ",
                            absl::FormatDuration(deadlines.step),
                            " of deadlines.step: a step that may take that long would count as "
                            "a hang"));
}

}  // namespace

void Validate(const ClusterConfig& config, Problems& problems) {
  CheckNames("models", config.models, problems);
  CheckNames("replicas", config.replicas, problems);
  CheckModelReferences(config, problems);
  CheckHosts(config, problems);
  CheckPorts(config, problems);
  CheckOrigins(config, problems);
  CheckDeadlines(config, problems);
}

}  // namespace shoal::config
