// SPDX-License-Identifier: Apache-2.0
// What every ControlChannel must do, run over all implementations. A new one joins Cases().
#include <functional>
#include <memory>
#include <string>
#include <thread>
#include <vector>

#include "gtest/gtest.h"
#include "parallel/control_channel.h"

namespace shoal::parallel {
namespace {

struct Case {
  std::string name;
  std::function<std::unique_ptr<ControlChannel>(size_t messages_max)> make;
};

std::vector<Case> Cases() { return {{.name = "Local", .make = CreateLocalControlChannel}}; }

constexpr absl::Duration kSoon = absl::Milliseconds(5);
constexpr absl::Duration kLong = absl::Seconds(60);

class ControlChannelContract : public ::testing::TestWithParam<Case> {};

TEST_P(ControlChannelContract, DeliversMessagesInOrderAndWhole) {
  const auto channel = GetParam().make(3);
  ASSERT_TRUE(channel->Publish({1, 2, 3}).ok());
  ASSERT_TRUE(channel->Publish({}).ok());
  ASSERT_TRUE(channel->Publish({4}).ok());
  EXPECT_EQ(*channel->Next(kLong), (std::vector<uint8_t>{1, 2, 3}));
  EXPECT_EQ(*channel->Next(kLong), (std::vector<uint8_t>{}));
  EXPECT_EQ(*channel->Next(kLong), (std::vector<uint8_t>{4}));
}

TEST_P(ControlChannelContract, RefusesMessagesAboveItsBoundUntilOneIsRead) {
  const auto channel = GetParam().make(2);
  ASSERT_TRUE(channel->Publish({1}).ok());
  ASSERT_TRUE(channel->Publish({2}).ok());
  EXPECT_TRUE(absl::IsResourceExhausted(channel->Publish({3})));
  EXPECT_EQ(*channel->Next(kLong), (std::vector<uint8_t>{1}));
  ASSERT_TRUE(channel->Publish({4}).ok());
  EXPECT_EQ(*channel->Next(kLong), (std::vector<uint8_t>{2}));
  EXPECT_EQ(*channel->Next(kLong), (std::vector<uint8_t>{4}));
}

TEST_P(ControlChannelContract, GivesUpAtTheDeadlineWhenNothingComes) {
  const auto channel = GetParam().make(1);
  EXPECT_TRUE(absl::IsDeadlineExceeded(channel->Next(kSoon).status()));
  EXPECT_TRUE(absl::IsDeadlineExceeded(channel->Next(absl::ZeroDuration()).status()));
}

TEST_P(ControlChannelContract, DrainsWhatWasPublishedBeforeTheClose) {
  const auto channel = GetParam().make(2);
  ASSERT_TRUE(channel->Publish({1}).ok());
  channel->Close();
  EXPECT_TRUE(absl::IsCancelled(channel->Publish({2})));
  EXPECT_EQ(*channel->Next(kLong), (std::vector<uint8_t>{1}));
  EXPECT_TRUE(absl::IsCancelled(channel->Next(kLong).status()));
}

TEST_P(ControlChannelContract, WakesAWaitingReaderWhenItCloses) {
  const auto channel = GetParam().make(1);
  absl::Status seen;
  std::thread reader([&] { seen = channel->Next(kLong).status(); });
  channel->Close();
  reader.join();
  EXPECT_TRUE(absl::IsCancelled(seen)) << seen;
}

TEST_P(ControlChannelContract, CarriesMessagesBetweenThreads) {
  constexpr uint8_t kMessages = 200;
  const auto channel = GetParam().make(4);
  std::thread leader([&] {
    for (uint8_t i = 0; i < kMessages; ++i) {
      absl::Status status;
      do {  // the bound is small: the reader frees places
        status = channel->Publish({i});
        if (!status.ok()) std::this_thread::yield();
      } while (absl::IsResourceExhausted(status));
      ASSERT_TRUE(status.ok()) << status;
    }
  });
  for (uint8_t i = 0; i < kMessages; ++i) {
    const auto message = channel->Next(kLong);
    ASSERT_TRUE(message.ok()) << message.status();
    EXPECT_EQ(*message, std::vector<uint8_t>{i});
  }
  leader.join();
}

INSTANTIATE_TEST_SUITE_P(All, ControlChannelContract, ::testing::ValuesIn(Cases()),
                         [](const auto& row) { return row.param.name; });

}  // namespace
}  // namespace shoal::parallel
