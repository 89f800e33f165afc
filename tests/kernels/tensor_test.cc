// SPDX-License-Identifier: Apache-2.0
#include "kernels/tensor.h"

#include <gtest/gtest.h>

#include <vector>

namespace shoal::kernels {
namespace {

TEST(Tensor, IsRowMajorAndCutsRowsAndColumnsInPlace) {
  std::vector<float> data(4 * 6);
  for (size_t i = 0; i < data.size(); ++i) data[i] = static_cast<float>(i);
  const Tensor t(data.data(), DType::kF32, {4, 6});
  EXPECT_EQ(t.elements(), 24);
  EXPECT_EQ(t.Row<float>(2)[3], 15.0F);
  const Tensor rows = t.Rows(1, 2);
  EXPECT_EQ(rows.dim(0), 2);
  EXPECT_EQ(rows.Row<float>(1)[0], 12.0F);
  const Tensor columns = rows.Columns(4, 2);
  EXPECT_EQ(columns.dim(1), 2);
  EXPECT_EQ(columns.Row<float>(1)[1], 17.0F);
  EXPECT_EQ(columns.elements(), 4);
}

TEST(Tensor, HasStridesOfAllItsDimensions) {
  const Tensor t(nullptr, DType::kF16, {2, 3, 5, 7});
  EXPECT_EQ(t.stride, (std::array<int64_t, 4>{105, 35, 7, 1}));
  EXPECT_EQ(t.elements(), 210);
  EXPECT_EQ(Tensor().elements(), 0);
}

}  // namespace
}  // namespace shoal::kernels
