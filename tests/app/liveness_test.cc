// SPDX-License-Identifier: Apache-2.0
#include "app/supervisor/liveness.h"

#include "gtest/gtest.h"

namespace shoal::app {
namespace {

constexpr LivenessLimits kLimits = {
    .start = absl::Seconds(100), .hang = absl::Seconds(10), .drain = absl::Seconds(50)};
const absl::Time kStart = absl::UnixEpoch();

absl::Time At(double seconds) { return kStart + absl::Seconds(seconds); }

TEST(Liveness, ExpectsNothingBeforeTheFirstStartAndAfterTheEnd) {
  Liveness liveness(kLimits);
  EXPECT_EQ(liveness.deadline(), absl::InfiniteFuture());
  liveness.OnStart(At(0));
  liveness.OnEnd();
  EXPECT_FALSE(liveness.Hung(At(1e6)));
  liveness.OnProgress(At(1));  // a report that was still in the pipe
  liveness.Forgive(At(2));
  EXPECT_FALSE(liveness.Hung(At(1e6)));
}

TEST(Liveness, AStartingChildHasTheStartLimit) {
  Liveness liveness(kLimits);
  liveness.OnStart(At(0));
  EXPECT_FALSE(liveness.Hung(At(99.9)));
  EXPECT_TRUE(liveness.Hung(At(100)));
  EXPECT_STREQ(liveness.limit_name(), "deadlines.start");
}

TEST(Liveness, EveryReportOfProgressStartsTheHangLimitAgain) {
  Liveness liveness(kLimits);
  liveness.OnStart(At(0));
  for (int second = 5; second <= 50; second += 9) {
    EXPECT_FALSE(liveness.Hung(At(second)));
    liveness.OnProgress(At(second));
  }
  EXPECT_FALSE(liveness.Hung(At(59.9)));
  EXPECT_TRUE(liveness.Hung(At(60)));
  EXPECT_STREQ(liveness.limit_name(), "deadlines.hang");
}

TEST(Liveness, ADrainingChildMakesNoReportsAndHasTheDrainLimit) {
  Liveness liveness(kLimits);
  liveness.OnStart(At(0));
  liveness.OnProgress(At(1));
  liveness.OnDrain(At(5));
  liveness.OnProgress(At(6));  // does not shorten it
  EXPECT_FALSE(liveness.Hung(At(54.9)));
  EXPECT_TRUE(liveness.Hung(At(55)));
}

TEST(Liveness, AWatcherThatWasHeldUpGivesTheWholeTimeAgain) {
  Liveness liveness(kLimits);
  liveness.OnStart(At(0));
  liveness.OnProgress(At(1));
  EXPECT_TRUE(liveness.Hung(At(500)));
  liveness.Forgive(At(500));
  EXPECT_FALSE(liveness.Hung(At(509.9)));
  EXPECT_TRUE(liveness.Hung(At(510)));
}

}  // namespace
}  // namespace shoal::app
