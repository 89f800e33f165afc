// SPDX-License-Identifier: Apache-2.0
#include "text/load/json_file.h"

#include <filesystem>
#include <system_error>

#include "base/file_kind.h"
#include "base/mapped_file.h"
#include "base/status.h"

namespace shoal::text {
namespace {

constexpr int64_t kFileBytesMax = 256 << 20;
constexpr int kDepthMax = 64;

}  // namespace

absl::StatusOr<std::optional<std::string>> ReadFileIfPresent(const std::string& path) {
  std::error_code error;
  if (!std::filesystem::exists(path, error)) return std::optional<std::string>();
  if (!std::filesystem::is_regular_file(path, error)) {
    return absl::InvalidArgumentError(absl::StrCat(path, ": not a regular file"));
  }
  SHOAL_ASSIGN_OR_RETURN(const auto file, MappedFile::Open(path));
  if (file->size() > kFileBytesMax) {
    return absl::InvalidArgumentError(
        absl::StrCat(path, ": ", file->size(), " bytes; at most ", kFileBytesMax, " are read"));
  }
  return std::optional<std::string>(
      std::string(reinterpret_cast<const char*>(file->data()), static_cast<size_t>(file->size())));
}

absl::StatusOr<std::optional<nlohmann::json>> ReadJsonIfPresent(const std::string& path) {
  SHOAL_ASSIGN_OR_RETURN(const std::optional<std::string> text, ReadFileIfPresent(path));
  if (!text) return std::optional<nlohmann::json>();
  SHOAL_RETURN_IF_ERROR(Annotate(RefuseStandIn(reinterpret_cast<const uint8_t*>(text->data()),
                                               static_cast<int64_t>(text->size()), "JSON"),
                                 path));
  bool too_deep = false;
  const auto watch_depth = [&](int depth, nlohmann::json::parse_event_t, nlohmann::json&) {
    if (depth > kDepthMax) too_deep = true;
    return !too_deep;
  };
  nlohmann::json document = nlohmann::json::parse(*text, watch_depth, /*allow_exceptions=*/false);
  if (too_deep) {
    return absl::InvalidArgumentError(
        absl::StrCat(path, ": nested deeper than ", kDepthMax, " levels"));
  }
  if (document.is_discarded()) {
    return absl::InvalidArgumentError(absl::StrCat(path, ": not valid JSON"));
  }
  if (!document.is_object()) {
    return absl::InvalidArgumentError(absl::StrCat(path, ": not a JSON object"));
  }
  return std::optional<nlohmann::json>(std::move(document));
}

const nlohmann::json& Member(const nlohmann::json& object, const std::string& key) {
  static const nlohmann::json* const kNull = new nlohmann::json(nullptr);
  if (!object.is_object()) return *kNull;
  const auto found = object.find(key);
  return found == object.end() ? *kNull : *found;
}

}  // namespace shoal::text
