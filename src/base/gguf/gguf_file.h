// SPDX-License-Identifier: Apache-2.0
// GgufFile: header, metadata and tensor directory of a GGUF file (versions 2 and 3, little-endian).
// Only the container: what the tensors mean is model/'s business. Every count, length and offset is
// checked against the file before it is used; nothing is allocated on the word of the file alone.
#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <string>
#include <variant>
#include <vector>

#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "base/mapped_file.h"

namespace shoal::gguf {

// Arrays are kept by kind; all integers widen to int64 (uint64 beyond int64 is refused).
using Value = std::variant<bool, int64_t, double, std::string, std::vector<bool>,
                           std::vector<int64_t>, std::vector<double>, std::vector<std::string>>;

// ggml_type numbers of the file format.
enum class TensorType : uint32_t {
  kF32 = 0, kF16 = 1, kQ4_0 = 2, kQ4_1 = 3, kQ5_0 = 6, kQ5_1 = 7, kQ8_0 = 8,
  kQ2_K = 10, kQ3_K = 11, kQ4_K = 12, kQ5_K = 13, kQ6_K = 14, kBF16 = 30,
};

struct TensorInfo {
  std::string name;
  uint32_t type = 0;           // a TensorType, or a number this build does not know
  std::vector<int64_t> shape;  // outermost first (the reverse of the file's order)
  const uint8_t* data = nullptr;
  int64_t bytes = 0;
};

// "Q4_1", or "type 99".
std::string TypeName(uint32_t type);

// Immutable; safe from any thread.
class GgufFile {
 public:
  static absl::StatusOr<std::unique_ptr<GgufFile>> Open(const std::string& path);

  // nullptr when the key is absent.
  const Value* Find(absl::string_view key) const;
  // NOT_FOUND when absent, INVALID_ARGUMENT naming key and type when of another type. GetInt
  // accepts bools and integers, GetDouble also integers.
  absl::StatusOr<int64_t> GetInt(absl::string_view key) const;
  absl::StatusOr<double> GetDouble(absl::string_view key) const;
  absl::StatusOr<std::string> GetString(absl::string_view key) const;

  const std::map<std::string, Value, std::less<>>& metadata() const { return metadata_; }
  const std::vector<TensorInfo>& tensors() const { return tensors_; }
  const TensorInfo* FindTensor(absl::string_view name) const;
  const std::string& path() const { return file_->path(); }

 private:
  GgufFile() = default;
  friend class Parser;

  std::unique_ptr<MappedFile> file_;
  std::map<std::string, Value, std::less<>> metadata_;
  std::vector<TensorInfo> tensors_;
  std::map<std::string, size_t, std::less<>> tensor_index_;
};

}  // namespace shoal::gguf
