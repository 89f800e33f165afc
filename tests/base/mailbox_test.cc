// SPDX-License-Identifier: Apache-2.0
#include "base/mailbox.h"

#include <memory>
#include <thread>

#include "gmock/gmock.h"
#include "gtest/gtest.h"

namespace shoal {
namespace {

using ::testing::ElementsAre;

TEST(Mailbox, DeliversInOrder) {
  Mailbox<int> mailbox(3);
  for (int i = 1; i <= 3; ++i) EXPECT_TRUE(mailbox.TryPush(int{i}));
  EXPECT_EQ(mailbox.Pop(absl::ZeroDuration()), 1);
  EXPECT_THAT(mailbox.PopAll(absl::ZeroDuration()), ElementsAre(2, 3));
  EXPECT_EQ(mailbox.Pop(absl::ZeroDuration()), std::nullopt);
}

TEST(Mailbox, LeavesAValueUntouchedWhenFull) {
  Mailbox<std::unique_ptr<int>> mailbox(1);
  EXPECT_TRUE(mailbox.TryPush(std::make_unique<int>(1)));
  auto second = std::make_unique<int>(2);
  EXPECT_FALSE(mailbox.TryPush(std::move(second)));
  ASSERT_NE(second, nullptr);
  EXPECT_EQ(*second, 2);
}

TEST(Mailbox, GivesWhatIsLeftAfterClose) {
  Mailbox<int> mailbox(2);
  EXPECT_TRUE(mailbox.TryPush(7));
  mailbox.Close();
  EXPECT_TRUE(mailbox.closed());
  EXPECT_FALSE(mailbox.TryPush(8));
  EXPECT_EQ(mailbox.Pop(absl::InfiniteDuration()), 7);
  EXPECT_EQ(mailbox.Pop(absl::InfiniteDuration()), std::nullopt);
  EXPECT_TRUE(mailbox.PopAll(absl::InfiniteDuration()).empty());
}

TEST(Mailbox, WakesAWaitingReceiver) {
  Mailbox<int> values(1);
  Mailbox<int> echoes(1);
  std::thread receiver([&] {
    while (std::optional<int> value = values.Pop(absl::InfiniteDuration())) {
      EXPECT_TRUE(echoes.TryPush(int{*value}));
    }
  });
  for (int i = 0; i < 100; ++i) {
    EXPECT_TRUE(values.TryPush(int{i}));
    EXPECT_EQ(echoes.Pop(absl::InfiniteDuration()), i);
  }
  values.Close();
  receiver.join();
}

}  // namespace
}  // namespace shoal
