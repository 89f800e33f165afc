// SPDX-License-Identifier: Apache-2.0
#include "base/gguf/gguf_file.h"

#include <array>

#include "absl/strings/str_cat.h"
#include "base/gguf/gguf_parser.h"
#include "base/status.h"

namespace shoal::gguf {
namespace {

constexpr std::array<const char*, std::variant_size_v<Value>> kKindNames = {
    "bool",          "integer",          "number",          "string",
    "list of bools", "list of integers", "list of numbers", "list of strings"};

absl::Status Absent(const GgufFile& file, absl::string_view key) {
  return absl::NotFoundError(absl::StrCat(file.path(), ": no metadata key \"", key, "\""));
}

absl::Status WrongKind(const GgufFile& file, absl::string_view key, const Value& value,
                       absl::string_view wanted) {
  return absl::InvalidArgumentError(absl::StrCat(file.path(), ": metadata key \"", key,
                                                 "\" is of type ", kKindNames[value.index()],
                                                 ", not ", wanted));
}

}  // namespace

absl::StatusOr<std::unique_ptr<GgufFile>> GgufFile::Open(const std::string& path) {
  SHOAL_ASSIGN_OR_RETURN(std::unique_ptr<MappedFile> mapped, MappedFile::Open(path));
  std::unique_ptr<GgufFile> file(new GgufFile);
  file->file_ = std::move(mapped);
  Parser parser(file.get());
  SHOAL_RETURN_IF_ERROR(Annotate(parser.Parse(), path));
  return file;
}

const Value* GgufFile::Find(absl::string_view key) const {
  const auto found = metadata_.find(key);
  return found == metadata_.end() ? nullptr : &found->second;
}

absl::StatusOr<int64_t> GgufFile::GetInt(absl::string_view key) const {
  const Value* value = Find(key);
  if (value == nullptr) return Absent(*this, key);
  if (const auto* integer = std::get_if<int64_t>(value)) return *integer;
  if (const auto* boolean = std::get_if<bool>(value)) return *boolean ? 1 : 0;
  return WrongKind(*this, key, *value, "integer");
}

absl::StatusOr<double> GgufFile::GetDouble(absl::string_view key) const {
  const Value* value = Find(key);
  if (value == nullptr) return Absent(*this, key);
  if (const auto* number = std::get_if<double>(value)) return *number;
  if (const auto* integer = std::get_if<int64_t>(value)) return static_cast<double>(*integer);
  return WrongKind(*this, key, *value, "number");
}

absl::StatusOr<std::string> GgufFile::GetString(absl::string_view key) const {
  const Value* value = Find(key);
  if (value == nullptr) return Absent(*this, key);
  if (const auto* text = std::get_if<std::string>(value)) return *text;
  return WrongKind(*this, key, *value, "string");
}

const TensorInfo* GgufFile::FindTensor(absl::string_view name) const {
  const auto found = tensor_index_.find(name);
  return found == tensor_index_.end() ? nullptr : &tensors_[found->second];
}

}  // namespace shoal::gguf
