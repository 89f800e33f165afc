// SPDX-License-Identifier: Apache-2.0
#include "model/weights/tensor_directory.h"

#include <sys/mman.h>
#include <unistd.h>

#include <algorithm>
#include <utility>

namespace shoal::model {
namespace {

using kernels::WeightFormat;

std::optional<WeightFormat> FormatOf(const gguf::TensorInfo& tensor) {
  switch (static_cast<gguf::TensorType>(tensor.type)) {
    case gguf::TensorType::kF32:
      return WeightFormat::kF32;
    case gguf::TensorType::kF16:
      return WeightFormat::kF16;
    case gguf::TensorType::kBF16:
      return WeightFormat::kBF16;
    case gguf::TensorType::kQ8_0:
      return WeightFormat::kQ8_0;
    case gguf::TensorType::kQ4_0:
      return WeightFormat::kQ4_0;
    case gguf::TensorType::kQ4_1:
      return WeightFormat::kQ4_1;
    case gguf::TensorType::kQ5_0:
      return WeightFormat::kQ5_0;
    case gguf::TensorType::kQ5_1:
      return WeightFormat::kQ5_1;
    case gguf::TensorType::kQ4_K:
      return WeightFormat::kQ4_K;
    case gguf::TensorType::kQ5_K:
      return WeightFormat::kQ5_K;
    case gguf::TensorType::kQ6_K:
      return WeightFormat::kQ6_K;
    default:
      return std::nullopt;
  }
}

std::optional<WeightFormat> FormatOf(const safetensors::TensorInfo& tensor) {
  if (tensor.dtype == "F32") return WeightFormat::kF32;
  if (tensor.dtype == "F16") return WeightFormat::kF16;
  if (tensor.dtype == "BF16") return WeightFormat::kBF16;
  return std::nullopt;
}

template <typename Info>
TensorEntry MakeEntry(const Info& tensor, std::string type) {
  return {.name = tensor.name,
          .type = std::move(type),
          .format = FormatOf(tensor),
          .shape = tensor.shape,
          .data = tensor.data,
          .bytes = tensor.bytes};
}

}  // namespace

TensorDirectory::TensorDirectory(std::vector<TensorEntry> entries) : entries_(std::move(entries)) {
  std::sort(entries_.begin(), entries_.end(),
            [](const TensorEntry& a, const TensorEntry& b) { return a.name < b.name; });
}

TensorDirectory TensorDirectory::Of(const gguf::GgufFile& file) {
  std::vector<TensorEntry> entries;
  entries.reserve(file.tensors().size());
  for (const gguf::TensorInfo& tensor : file.tensors()) {
    entries.push_back(MakeEntry(tensor, gguf::TypeName(tensor.type)));
  }
  return TensorDirectory(std::move(entries));
}

TensorDirectory TensorDirectory::Of(const safetensors::SafetensorsFile& file) {
  std::vector<TensorEntry> entries;
  entries.reserve(file.tensors().size());
  for (const safetensors::TensorInfo& tensor : file.tensors()) {
    entries.push_back(MakeEntry(tensor, tensor.dtype));
  }
  return TensorDirectory(std::move(entries));
}

const TensorEntry* TensorDirectory::Find(absl::string_view name) const {
  const auto it = std::lower_bound(
      entries_.begin(), entries_.end(), name,
      [](const TensorEntry& entry, absl::string_view wanted) { return entry.name < wanted; });
  return it != entries_.end() && it->name == name ? &*it : nullptr;
}

void DropPages(const uint8_t* data, int64_t bytes) {
  const auto page = static_cast<uintptr_t>(sysconf(_SC_PAGESIZE));
  const uintptr_t begin = (reinterpret_cast<uintptr_t>(data) + page - 1) / page * page;
  const uintptr_t end =
      (reinterpret_cast<uintptr_t>(data) + static_cast<uintptr_t>(bytes)) / page * page;
  if (begin >= end) return;
  // Advice only: a failure leaves the pages to the system's own judgement.
  (void)madvise(reinterpret_cast<void*>(begin), end - begin, MADV_DONTNEED);
}

}  // namespace shoal::model
