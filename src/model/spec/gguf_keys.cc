// SPDX-License-Identifier: Apache-2.0
#include "model/spec/gguf_keys.h"

#include <cstring>
#include <variant>

#include "absl/strings/str_cat.h"
#include "base/status.h"

namespace shoal::model {
namespace {

absl::Status OutOfRange(absl::string_view key, int64_t value, int64_t max) {
  return absl::InvalidArgumentError(absl::StrCat(key, " is ", value, ", outside [1, ", max, "]"));
}

}  // namespace

std::string GgufKeys::Key(absl::string_view name) const {
  return absl::StrCat(architecture_, ".", name);
}

bool GgufKeys::Has(absl::string_view name) const { return file_.Find(Key(name)) != nullptr; }

absl::StatusOr<int64_t> GgufKeys::Size(absl::string_view name, int64_t max) const {
  const std::string key = Key(name);
  SHOAL_ASSIGN_OR_RETURN(const int64_t value, file_.GetInt(key));
  if (value < 1 || value > max) return OutOfRange(key, value, max);
  return value;
}

absl::StatusOr<int64_t> GgufKeys::SizeOr(absl::string_view name, int64_t fallback) const {
  if (!Has(name)) return fallback;
  return Size(name);
}

absl::StatusOr<int64_t> GgufKeys::UniformSize(absl::string_view name) const {
  const std::string key = Key(name);
  const gguf::Value* value = file_.Find(key);
  const auto* list = value == nullptr ? nullptr : std::get_if<std::vector<int64_t>>(value);
  if (list == nullptr) return Size(name);
  if (list->empty()) return absl::InvalidArgumentError(absl::StrCat(key, " is an empty list"));
  for (const int64_t item : *list) {
    if (item != list->front()) {
      return absl::InvalidArgumentError(absl::StrCat(key, " differs between layers (",
                                                     list->front(), " and ", item,
                                                     "), which is not available yet"));
    }
  }
  if (list->front() < 1 || list->front() > kGgufSizeMax) {
    return OutOfRange(key, list->front(), kGgufSizeMax);
  }
  return list->front();
}

absl::StatusOr<double> GgufKeys::NumberOr(absl::string_view name, double fallback) const {
  const gguf::Value* value = file_.Find(Key(name));
  if (value == nullptr) return fallback;
  if (const bool* flag = std::get_if<bool>(value)) return *flag ? 1 : 0;
  return file_.GetDouble(Key(name));
}

absl::StatusOr<double> GgufKeys::Number(absl::string_view name) const {
  return file_.GetDouble(Key(name));
}

absl::StatusOr<std::vector<float>> GgufKeys::Floats(absl::string_view tensor) const {
  const gguf::TensorInfo* info = file_.FindTensor(tensor);
  if (info == nullptr) return std::vector<float>{};
  if (info->type != static_cast<uint32_t>(gguf::TensorType::kF32) || info->shape.size() != 1) {
    return absl::InvalidArgumentError(absl::StrCat(tensor, " is not a list of F32"));
  }
  std::vector<float> values(static_cast<size_t>(info->bytes) / sizeof(float));
  std::memcpy(values.data(), info->data, values.size() * sizeof(float));
  return values;
}

bool GgufKeys::HasTensor(absl::string_view tensor) const {
  return file_.FindTensor(tensor) != nullptr;
}

}  // namespace shoal::model
