// SPDX-License-Identifier: Apache-2.0
#include "base/safetensors/safetensors_file.h"

#include <algorithm>
#include <cstring>
#include <filesystem>
#include <set>
#include <system_error>
#include <utility>

#include "absl/strings/escaping.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "base/file_kind.h"
#include "base/log.h"
#include "base/safetensors/header_parser.h"
#include "base/safetensors/index_parser.h"
#include "base/status.h"

namespace shoal::safetensors {
namespace {

constexpr int64_t kHeaderBytesMax = 100'000'000;  // the format's own limit
constexpr int64_t kIndexBytesMax = int64_t{64} << 20;
constexpr int64_t kLengthBytes = 8;
constexpr size_t kNamesShown = 8;

std::string Named(const std::string& name) {
  return absl::StrCat("tensor \"", absl::CHexEscape(name), "\"");
}

// The header's text, once its length is known to lie within the file.
absl::StatusOr<absl::string_view> HeaderText(const MappedFile& file) {
  SHOAL_RETURN_IF_ERROR(RefuseStandIn(file.data(), file.size(), "a safetensors file"));
  if (file.size() < kLengthBytes) {
    return absl::InvalidArgumentError("truncated: no room for the header's length");
  }
  uint64_t length = 0;
  std::memcpy(&length, file.data(), kLengthBytes);
  if (length > static_cast<uint64_t>(kHeaderBytesMax)) {
    return absl::InvalidArgumentError(absl::StrCat("a header of ", length, " bytes, at most ",
                                                   kHeaderBytesMax, ": not a safetensors file?"));
  }
  if (length > static_cast<uint64_t>(file.size() - kLengthBytes)) {
    return absl::InvalidArgumentError(
        absl::StrCat("truncated: a header of ", length, " bytes in a file of ", file.size()));
  }
  return absl::string_view(reinterpret_cast<const char*>(file.data()) + kLengthBytes, length);
}

// Compares the three sources of a tensor's size: shape, offsets, file.
absl::Status CheckSize(const HeaderEntry& entry, int64_t data_bytes) {
  int64_t bytes = DtypeBytes(entry.dtype);
  if (bytes == 0) {
    return absl::InvalidArgumentError(absl::StrCat(Named(entry.name), " has the unknown dtype \"",
                                                   absl::CHexEscape(entry.dtype), "\""));
  }
  for (const int64_t length : entry.shape) {
    if (__builtin_mul_overflow(bytes, length, &bytes)) {
      return absl::InvalidArgumentError(absl::StrCat(Named(entry.name), " has a shape of [",
                                                     absl::StrJoin(entry.shape, ", "),
                                                     "], too large for any file"));
    }
  }
  if (entry.begin > entry.end || entry.end > data_bytes) {
    return absl::InvalidArgumentError(absl::StrCat(Named(entry.name), " lies at [", entry.begin,
                                                   ", ", entry.end, ") of ", data_bytes,
                                                   " data bytes: truncated file"));
  }
  if (entry.end - entry.begin != bytes) {
    return absl::InvalidArgumentError(
        absl::StrCat(Named(entry.name), " has ", entry.end - entry.begin, " bytes, but ",
                     entry.dtype, " [", absl::StrJoin(entry.shape, ", "), "] needs ", bytes));
  }
  return absl::OkStatus();
}

// The format wants the data covered completely, each byte by one tensor.
absl::Status CheckCover(std::vector<HeaderEntry> entries, int64_t data_bytes) {
  std::sort(entries.begin(), entries.end(), [](const HeaderEntry& a, const HeaderEntry& b) {
    return std::pair(a.begin, a.end) < std::pair(b.begin, b.end);
  });
  int64_t covered = 0;
  for (const HeaderEntry& entry : entries) {
    if (entry.begin != covered) {
      return absl::InvalidArgumentError(absl::StrCat(
          Named(entry.name), entry.begin < covered ? " overlaps" : " leaves a hole after",
          " the tensor before it: it starts at ", entry.begin, ", that one ends at ", covered));
    }
    covered = entry.end;
  }
  if (covered != data_bytes) {
    return absl::InvalidArgumentError(absl::StrCat(
        "the tensors cover ", covered, " of ", data_bytes, " data bytes: not the file they name"));
  }
  return absl::OkStatus();
}

std::string Listed(const std::vector<std::string>& names) {
  const size_t shown = std::min(names.size(), kNamesShown);
  std::string text =
      absl::StrJoin(names.begin(), names.begin() + static_cast<int64_t>(shown), ", ");
  if (shown < names.size()) absl::StrAppend(&text, " and ", names.size() - shown, " more");
  return text;
}

}  // namespace

absl::StatusOr<std::unique_ptr<SafetensorsFile>> SafetensorsFile::Open(const std::string& path) {
  std::unique_ptr<SafetensorsFile> file(new SafetensorsFile);
  std::error_code error;
  if (!std::filesystem::is_directory(path, error)) {
    SHOAL_RETURN_IF_ERROR(file->AddFile(path));
  } else {
    const std::filesystem::path single = std::filesystem::path(path) / "model.safetensors";
    if (std::filesystem::exists(single, error)) {
      SHOAL_RETURN_IF_ERROR(file->AddFile(single.string()));
    } else {
      SHOAL_RETURN_IF_ERROR(file->AddShards(path));
    }
  }
  SHOAL_RETURN_IF_ERROR(Annotate(file->BuildIndex(), path));
  return file;
}

const TensorInfo* SafetensorsFile::Find(absl::string_view name) const {
  const auto found = index_.find(name);
  return found == index_.end() ? nullptr : &tensors_[found->second];
}

absl::Status SafetensorsFile::AddFile(const std::string& path) {
  SHOAL_ASSIGN_OR_RETURN(std::unique_ptr<MappedFile> file, MappedFile::Open(path));
  absl::StatusOr<absl::string_view> text = HeaderText(*file);
  if (!text.ok()) return Annotate(text.status(), path);
  absl::StatusOr<std::vector<HeaderEntry>> entries = ParseHeader(*text);
  if (!entries.ok()) return Annotate(entries.status(), path);
  const int64_t start = kLengthBytes + static_cast<int64_t>(text->size());
  const int64_t data_bytes = file->size() - start;
  for (const HeaderEntry& entry : *entries) {
    SHOAL_RETURN_IF_ERROR(Annotate(CheckSize(entry, data_bytes), path));
  }
  SHOAL_RETURN_IF_ERROR(Annotate(CheckCover(*entries, data_bytes), path));
  for (HeaderEntry& entry : *entries) {
    const int64_t bytes = entry.end - entry.begin;
    tensors_.push_back({.name = std::move(entry.name),
                        .dtype = std::move(entry.dtype),
                        .shape = std::move(entry.shape),
                        .data = bytes > 0 ? file->data() + start + entry.begin : nullptr,
                        .bytes = bytes});
  }
  files_.push_back(std::move(file));
  return absl::OkStatus();
}

absl::Status SafetensorsFile::AddShards(const std::string& directory) {
  const std::filesystem::path root(directory);
  const std::string index_path = (root / "model.safetensors.index.json").string();
  absl::StatusOr<std::unique_ptr<MappedFile>> index = MappedFile::Open(index_path);
  if (absl::IsNotFound(index.status())) {
    return absl::NotFoundError(
        absl::StrCat(directory, " has neither model.safetensors nor model.safetensors.index.json"));
  }
  SHOAL_RETURN_IF_ERROR(index.status());
  if ((*index)->size() > kIndexBytesMax) {
    return absl::InvalidArgumentError(
        absl::StrCat(index_path, ": ", (*index)->size(), " bytes, at most ", kIndexBytesMax));
  }
  auto map = ParseIndex(
      {reinterpret_cast<const char*>((*index)->data()), static_cast<size_t>((*index)->size())});
  if (!map.ok()) return Annotate(map.status(), index_path);

  std::set<std::string> shards;
  for (const auto& [name, shard] : *map) shards.insert(shard);
  std::vector<std::string> missing;
  for (const std::string& shard : shards) {
    std::error_code error;
    if (!std::filesystem::exists(root / shard, error)) missing.push_back(shard);
  }
  if (!missing.empty()) {
    return absl::NotFoundError(
        absl::StrCat(directory, ": of ", shards.size(),
                     " files in the index these are missing: ", Listed(missing)));
  }
  std::map<std::string, std::string> placed;  // tensor to the shard that holds it
  for (const std::string& shard : shards) {
    const size_t before = tensors_.size();
    SHOAL_RETURN_IF_ERROR(AddFile((root / shard).string()));
    for (size_t i = before; i < tensors_.size(); ++i) placed.emplace(tensors_[i].name, shard);
  }
  std::vector<std::string> misplaced;
  for (const auto& [name, shard] : *map) {
    const auto found = placed.find(name);
    if (found == placed.end() || found->second != shard) {
      misplaced.push_back(absl::StrCat("\"", absl::CHexEscape(name), "\" (", shard, ")"));
    }
  }
  if (!misplaced.empty()) {
    return absl::InvalidArgumentError(absl::StrCat(
        directory, ": tensors that are not in the file the index names: ", Listed(misplaced)));
  }
  if (placed.size() > map->size()) {
    log::Warning("{}: {} tensors are in the shards but not in the index", directory,
                 placed.size() - map->size());
  }
  return absl::OkStatus();
}

absl::Status SafetensorsFile::BuildIndex() {
  std::sort(tensors_.begin(), tensors_.end(),
            [](const TensorInfo& a, const TensorInfo& b) { return a.name < b.name; });
  for (size_t i = 0; i < tensors_.size(); ++i) {
    if (!index_.emplace(tensors_[i].name, i).second) {
      return absl::InvalidArgumentError(
          absl::StrCat(Named(tensors_[i].name), " is in more than one file"));
    }
  }
  return absl::OkStatus();
}

}  // namespace shoal::safetensors
