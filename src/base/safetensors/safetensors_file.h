// SPDX-License-Identifier: Apache-2.0
// SafetensorsFile: header and mapping of one .safetensors file, or of a sharded set through its
// index. Offsets, shapes and sizes are checked against the file before use.
#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "base/mapped_file.h"

namespace shoal::safetensors {

struct TensorInfo {
  std::string name;
  std::string dtype;  // "F32", "F16", "BF16", ...
  std::vector<int64_t> shape;
  const uint8_t* data = nullptr;
  int64_t bytes = 0;
};

// Immutable; safe from any thread.
class SafetensorsFile {
 public:
  // A .safetensors file; or a directory with model.safetensors or model.safetensors.index.json.
  static absl::StatusOr<std::unique_ptr<SafetensorsFile>> Open(const std::string& path);

  const std::vector<TensorInfo>& tensors() const { return tensors_; }  // by name
  const TensorInfo* Find(absl::string_view name) const;

 private:
  SafetensorsFile() = default;
  absl::Status AddFile(const std::string& path);
  absl::Status AddShards(const std::string& directory);
  absl::Status BuildIndex();

  std::vector<std::unique_ptr<MappedFile>> files_;
  std::vector<TensorInfo> tensors_;
  std::map<std::string, size_t, std::less<>> index_;
};

}  // namespace shoal::safetensors
