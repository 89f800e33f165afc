// SPDX-License-Identifier: Apache-2.0
#include "base/gguf/tensor_type.h"

#include <algorithm>
#include <array>

#include "absl/strings/str_cat.h"

namespace shoal::gguf {
namespace {

struct Row {
  TensorType type;
  const char* name;
  BlockLayout layout;
};

constexpr std::array<Row, 13> kRows = {{
    {TensorType::kF32, "F32", {1, 4}},
    {TensorType::kF16, "F16", {1, 2}},
    {TensorType::kBF16, "BF16", {1, 2}},
    {TensorType::kQ4_0, "Q4_0", {32, 18}},
    {TensorType::kQ4_1, "Q4_1", {32, 20}},
    {TensorType::kQ5_0, "Q5_0", {32, 22}},
    {TensorType::kQ5_1, "Q5_1", {32, 24}},
    {TensorType::kQ8_0, "Q8_0", {32, 34}},
    {TensorType::kQ2_K, "Q2_K", {256, 84}},
    {TensorType::kQ3_K, "Q3_K", {256, 110}},
    {TensorType::kQ4_K, "Q4_K", {256, 144}},
    {TensorType::kQ5_K, "Q5_K", {256, 176}},
    {TensorType::kQ6_K, "Q6_K", {256, 210}},
}};

const Row* FindRow(uint32_t type) {
  const auto found = std::find_if(kRows.begin(), kRows.end(), [type](const Row& row) {
    return static_cast<uint32_t>(row.type) == type;
  });
  return found == kRows.end() ? nullptr : &*found;
}

}  // namespace

std::string TypeName(uint32_t type) {
  const Row* row = FindRow(type);
  return row != nullptr ? std::string(row->name) : absl::StrCat("type ", type);
}

std::optional<BlockLayout> LayoutOf(uint32_t type) {
  const Row* row = FindRow(type);
  if (row == nullptr) return std::nullopt;
  return row->layout;
}

}  // namespace shoal::gguf
