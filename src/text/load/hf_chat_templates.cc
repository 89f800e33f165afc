// SPDX-License-Identifier: Apache-2.0
#include "text/load/hf_chat_templates.h"

#include <algorithm>
#include <filesystem>
#include <optional>
#include <system_error>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "base/status.h"
#include "nlohmann/json.hpp"
#include "text/load/json_file.h"

namespace shoal::text {
namespace {

using nlohmann::json;

constexpr size_t kTemplatesMax = 32;
constexpr char kDefault[] = "default";

absl::Status ReadConfig(const json& config, TextModel* model) {
  const json value = config.value("chat_template", json());
  if (value.is_null()) return absl::OkStatus();
  if (value.is_string()) {
    model->chat_template = value.get<std::string>();
    return absl::OkStatus();
  }
  const absl::Status malformed = absl::InvalidArgumentError(
      "chat_template is neither a string nor a list with a template named 'default'");
  if (!value.is_array() || value.size() > kTemplatesMax) return malformed;
  bool has_default = false;
  for (const json& entry : value) {
    const bool shaped = entry.is_object() && entry.value("name", json()).is_string() &&
                        entry.value("template", json()).is_string();
    if (!shaped) return malformed;
    if (entry["name"] == kDefault) {
      has_default = true;
      model->chat_template = entry["template"].get<std::string>();
    } else {
      model->named_templates.push_back({.name = entry["name"].get<std::string>(),
                                        .source = entry["template"].get<std::string>()});
    }
  }
  return has_default ? absl::OkStatus() : malformed;
}

// The names of the folder's templates, sorted; none when there is no such folder.
absl::StatusOr<std::vector<std::string>> AdditionalNames(const std::string& folder) {
  std::vector<std::string> names;
  std::error_code error;
  for (std::filesystem::directory_iterator it(folder, error), end; !error && it != end;
       it.increment(error)) {
    if (it->path().extension() == ".jinja") names.push_back(it->path().stem().string());
    if (names.size() > kTemplatesMax) {
      return absl::InvalidArgumentError(
          absl::StrCat(folder, ": more than ", kTemplatesMax, " chat templates"));
    }
  }
  std::sort(names.begin(), names.end());
  return names;
}

}  // namespace

absl::Status LoadChatTemplates(const std::string& path, const json& config, TextModel* model) {
  SHOAL_ASSIGN_OR_RETURN(std::optional<std::string> usual,
                         ReadFileIfPresent(path + "/chat_template.jinja"));
  if (!usual) return Annotate(ReadConfig(config, model), path + "/tokenizer_config.json");
  model->chat_template = *std::move(usual);
  const std::string folder = path + "/additional_chat_templates";
  SHOAL_ASSIGN_OR_RETURN(const std::vector<std::string> names, AdditionalNames(folder));
  for (const std::string& name : names) {
    SHOAL_ASSIGN_OR_RETURN(std::optional<std::string> source,
                           ReadFileIfPresent(absl::StrCat(folder, "/", name, ".jinja")));
    if (source) model->named_templates.push_back({.name = name, .source = *std::move(source)});
  }
  return absl::OkStatus();
}

}  // namespace shoal::text
