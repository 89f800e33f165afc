// SPDX-License-Identifier: Apache-2.0
// The small value types and helpers of base.
#include <unordered_set>

#include "absl/hash/hash.h"
#include "base/check.h"
#include "base/clock.h"
#include "base/philox.h"
#include "base/status.h"
#include "base/strong_id.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"

namespace shoal {
namespace {

using ::testing::ElementsAre;

// Known answers published with the generator (Random123, kat_vectors).
TEST(Philox, GivesThePublishedNumbers) {
  EXPECT_THAT(Philox4x32({0, 0, 0, 0}, {0, 0}),
              ElementsAre(0x6627e8d5, 0xe169c58d, 0xbc57ac4c, 0x9b00dbd8));
  EXPECT_THAT(
      Philox4x32({0xffffffff, 0xffffffff, 0xffffffff, 0xffffffff}, {0xffffffff, 0xffffffff}),
      ElementsAre(0x408f276d, 0x41c83b0e, 0xa20bc7c6, 0x6d5451fd));
  EXPECT_THAT(
      Philox4x32({0x243f6a88, 0x85a308d3, 0x13198a2e, 0x03707344}, {0xa4093822, 0x299f31d0}),
      ElementsAre(0xd16cfe09, 0x94fdcceb, 0x5001e420, 0x24126ea1));
}

TEST(StrongId, ComparesAndHashesByValue) {
  using Id = StrongId<struct Tag>;
  EXPECT_EQ(Id(3), Id(3));
  EXPECT_LT(Id(3), Id(4));
  EXPECT_EQ(Id().value(), 0U);
  EXPECT_EQ(absl::Hash<Id>()(Id(3)), absl::Hash<Id>()(Id(3)));
  EXPECT_TRUE((std::unordered_set<Id>{Id(1), Id(2)}.contains(Id(2))));
}

TEST(VirtualClock, MovesOnlyWhenTold) {
  VirtualClock clock;
  const absl::Time start = clock.Now();
  EXPECT_EQ(clock.Now(), start);
  clock.Advance(absl::Seconds(3));
  EXPECT_EQ(clock.Now() - start, absl::Seconds(3));
}

absl::StatusOr<int> Half(int value) {
  if (value % 2 != 0) return absl::InvalidArgumentError("odd");
  return value / 2;
}

absl::StatusOr<int> Quarter(int value) {
  SHOAL_ASSIGN_OR_RETURN(const int half, Half(value));
  SHOAL_ASSIGN_OR_RETURN(const int quarter, Half(half));
  return quarter;
}

absl::Status OnlyEven(int value) {
  SHOAL_RETURN_IF_ERROR(Half(value).status());
  return absl::OkStatus();
}

TEST(Status, MacrosReturnTheFirstError) {
  EXPECT_EQ(Quarter(8).value(), 2);
  EXPECT_EQ(Quarter(6).status().message(), "odd");
  EXPECT_TRUE(OnlyEven(2).ok());
  EXPECT_EQ(OnlyEven(3).code(), absl::StatusCode::kInvalidArgument);
}

TEST(Status, AnnotateKeepsTheCodeAndOk) {
  const absl::Status status = Annotate(absl::NotFoundError("x"), "file y");
  EXPECT_EQ(status.code(), absl::StatusCode::kNotFound);
  EXPECT_EQ(status.message(), "file y: x");
  EXPECT_TRUE(Annotate(absl::OkStatus(), "file y").ok());
}

TEST(CheckDeathTest, AFailedCheckPrintsTheExpressionAndAborts) {
  GTEST_FLAG_SET(death_test_style, "threadsafe");
  const int two = 2;
  SHOAL_CHECK(two == 2);
  EXPECT_DEATH(SHOAL_CHECK(two == 3), "two == 3");
}

}  // namespace
}  // namespace shoal
