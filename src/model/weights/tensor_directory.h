// SPDX-License-Identifier: Apache-2.0
// TensorDirectory: the tensors of a model file under one description, whichever container holds
// them. Views into the mapping of the container, which must outlive the directory.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "absl/strings/string_view.h"
#include "base/gguf/gguf_file.h"
#include "base/safetensors/safetensors_file.h"
#include "kernels/weights.h"

namespace shoal::model {

struct TensorEntry {
  std::string name;
  std::string type;                             // as the container calls it: "Q4_1", "BF16"
  std::optional<kernels::WeightFormat> format;  // nullopt: no backend takes it
  std::vector<int64_t> shape;                   // outermost first
  const uint8_t* data = nullptr;
  int64_t bytes = 0;
};

// Immutable.
class TensorDirectory {
 public:
  static TensorDirectory Of(const gguf::GgufFile& file);
  static TensorDirectory Of(const safetensors::SafetensorsFile& file);

  // nullptr when absent.
  const TensorEntry* Find(absl::string_view name) const;
  const std::vector<TensorEntry>& entries() const { return entries_; }  // by name

 private:
  explicit TensorDirectory(std::vector<TensorEntry> entries);

  std::vector<TensorEntry> entries_;
};

// Tells the system that the mapped pages wholly inside [data, data + bytes) are not needed any
// more; reading them again is legal and slow.
void DropPages(const uint8_t* data, int64_t bytes);

}  // namespace shoal::model
