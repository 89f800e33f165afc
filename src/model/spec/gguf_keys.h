// SPDX-License-Identifier: Apache-2.0
// GgufKeys: the metadata of a GGUF file under its architecture's prefix. Errors name the key.
#pragma once

#include <cstdint>
#include <string>
#include <utility>
#include <vector>

#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "base/gguf/gguf_file.h"

namespace shoal::model {

inline constexpr int64_t kGgufSizeMax = int64_t{1} << 28;

// Names are without the prefix: "block_count". The file must outlive this.
class GgufKeys {
 public:
  GgufKeys(const gguf::GgufFile& file, std::string architecture)
      : file_(file), architecture_(std::move(architecture)) {}

  const gguf::GgufFile& file() const { return file_; }
  const std::string& architecture() const { return architecture_; }
  std::string Key(absl::string_view name) const;
  bool Has(absl::string_view name) const;

  // A required size in [1, max]; or one that may be absent.
  absl::StatusOr<int64_t> Size(absl::string_view name, int64_t max = kGgufSizeMax) const;
  absl::StatusOr<int64_t> SizeOr(absl::string_view name, int64_t fallback) const;
  // A size that may be given per layer; all layers must agree.
  absl::StatusOr<int64_t> UniformSize(absl::string_view name) const;
  // A flag counts as 0 or 1.
  absl::StatusOr<double> NumberOr(absl::string_view name, double fallback) const;
  absl::StatusOr<double> Number(absl::string_view name) const;

  // The values of a one-dimensional F32 tensor; empty when there is none.
  absl::StatusOr<std::vector<float>> Floats(absl::string_view tensor) const;
  bool HasTensor(absl::string_view tensor) const;

 private:
  const gguf::GgufFile& file_;
  const std::string architecture_;
};

}  // namespace shoal::model
