// SPDX-License-Identifier: Apache-2.0
#include "base/config/cluster_config.h"

#include <filesystem>
#include <memory>
#include <utility>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "base/check.h"
#include "base/config/overrides.h"
#include "base/config/placement.h"
#include "base/config/problems.h"
#include "base/config/sections.h"
#include "base/config/tree_binder.h"
#include "base/config/validate.h"
#include "base/config/yaml_tree.h"
#include "base/mapped_file.h"
#include "base/status.h"

namespace shoal::config {
namespace {

absl::StatusOr<YamlNode> ReadTree(const std::string& path,
                                  const std::vector<std::string>& overrides) {
  SHOAL_ASSIGN_OR_RETURN(const std::unique_ptr<MappedFile> file, MappedFile::Open(path));
  absl::StatusOr<YamlNode> tree =
      ParseYaml({reinterpret_cast<const char*>(file->data()), static_cast<size_t>(file->size())});
  if (!tree.ok()) return Annotate(tree.status(), path);
  for (const std::string& text : overrides) {
    SHOAL_RETURN_IF_ERROR(ApplyOverride(text, *tree));
  }
  if (tree->kind != YamlNode::Kind::kMap) {
    return absl::InvalidArgumentError(absl::StrCat(path, ":", tree->line, ": the file is ",
                                                   KindName(*tree), ", must be a map of keys"));
  }
  return tree;
}

}  // namespace

std::string Endpoint::ToString() const {
  return absl::StrContains(host, ":") ? absl::StrCat("[", host, "]:", port)
                                      : absl::StrCat(host, ":", port);
}

const ModelConfig* ClusterConfig::FindModel(const std::string& name) const {
  for (const ModelConfig& model : models) {
    if (model.name == name) return &model;
  }
  return nullptr;
}

Endpoint ClusterConfig::WorkerEndpoint(size_t replica, int32_t copy) const {
  SHOAL_CHECK(replica < replicas.size());
  SHOAL_CHECK(copy >= 0);
  SHOAL_CHECK(copy < replicas[replica].count);
  int64_t ranks_before = copy * WorldSize(replicas[replica]);
  for (size_t i = 0; i < replica; ++i) ranks_before += replicas[i].count * WorldSize(replicas[i]);
  Endpoint endpoint{.host = "127.0.0.1", .port = 0};
  if (base_port != 0) endpoint.port = static_cast<int32_t>(base_port + ranks_before);
  if (!replicas[replica].hosts.empty()) {
    const auto host = hosts.find(replicas[replica].hosts[0]);
    if (host != hosts.end() && !host->second.interface.empty()) {
      endpoint.host = host->second.interface;
    }
  }
  return endpoint;
}

absl::StatusOr<ClusterConfig> ReadClusterConfig(const std::string& path,
                                                const std::vector<std::string>& overrides) {
  SHOAL_ASSIGN_OR_RETURN(const YamlNode tree, ReadTree(path, overrides));
  std::error_code error;
  const std::filesystem::path absolute = std::filesystem::absolute(path, error);
  if (error) return absl::InternalError(absl::StrCat(path, ": ", error.message()));
  ClusterConfig config;
  config.source_path = absolute.lexically_normal().string();
  Problems problems(path);
  TreeBinder binder(tree, "", absolute.parent_path().string(), problems);
  BindCluster(binder, config);
  binder.Finish();
  // Rules between keys are checked once each key is right by itself: no error for another's sake.
  SHOAL_RETURN_IF_ERROR(problems.ToStatus());
  Validate(config, problems);
  SHOAL_RETURN_IF_ERROR(problems.ToStatus());
  return config;
}

}  // namespace shoal::config
