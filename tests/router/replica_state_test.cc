// SPDX-License-Identifier: Apache-2.0
#include "router/fleet/replica_state.h"

#include <gtest/gtest.h>

namespace shoal::router {
namespace {

const absl::Time kStart = absl::FromUnixSeconds(1000);
constexpr absl::Duration kSecond = absl::Seconds(1);

class ReplicaStateTest : public ::testing::Test {
 protected:
  ReplicaStateTest() : state_("chat/0", "tiny", "127.0.0.1:1", HealthLimits{}, kStart) {
    expected_.model = std::string("tiny");
    expected_.vocab_size = 100;
  }
  static WelcomeValue Welcome(uint64_t incarnation = 5) {
    WelcomeValue welcome;
    welcome.protocol = kProtocolVersion;
    welcome.incarnation = incarnation;
    welcome.model = std::string("tiny");
    welcome.vocab_size = 128;
    welcome.weights_digest = std::string("w");
    return welcome;
  }
  static LoadValue Load(uint64_t incarnation = 5) {
    LoadValue load;
    load.incarnation = incarnation;
    return load;
  }

  ReplicaExpectation expected_;
  ReplicaState state_;
};

TEST_F(ReplicaStateTest, StartsThenServesThenIsDown) {
  EXPECT_EQ(state_.Health(kStart), ReplicaHealth::kStarting);
  EXPECT_EQ(state_.Health(kStart + absl::Seconds(121)), ReplicaHealth::kDown);
  state_.OnOpen(kStart);
  EXPECT_EQ(state_.Health(kStart), ReplicaHealth::kStarting);
  ASSERT_TRUE(state_.OnWelcome(Welcome(), expected_, kStart).ok());
  EXPECT_EQ(state_.Health(kStart), ReplicaHealth::kReady);
  state_.OnClosed(kStart, 0);
  EXPECT_EQ(state_.Health(kStart), ReplicaHealth::kDown);
}

TEST_F(ReplicaStateTest, IsStalledByLackOfProgressAndBySilenceAndRecovers) {
  state_.OnOpen(kStart);
  ASSERT_TRUE(state_.OnWelcome(Welcome(), expected_, kStart).ok());
  LoadValue load = Load();
  load.stalled_ms = 60'001;
  ASSERT_TRUE(state_.OnLoad(load, kStart).ok());
  EXPECT_EQ(state_.Health(kStart), ReplicaHealth::kStalled);
  load.stalled_ms = 59'000;
  ASSERT_TRUE(state_.OnLoad(load, kStart).ok());
  EXPECT_EQ(state_.Health(kStart), ReplicaHealth::kReady);
  EXPECT_EQ(state_.Health(kStart + 11 * kSecond), ReplicaHealth::kStalled);
  EXPECT_FALSE(state_.ShouldGiveUp(kStart + 11 * kSecond));
  EXPECT_TRUE(state_.ShouldGiveUp(kStart + 31 * kSecond));
  state_.OnOther(kStart + 12 * kSecond);
  EXPECT_EQ(state_.Health(kStart + 12 * kSecond), ReplicaHealth::kReady);
  load.failure = std::string("device lost");
  ASSERT_TRUE(state_.OnLoad(load, kStart + 12 * kSecond).ok());
  EXPECT_EQ(state_.Health(kStart + 12 * kSecond), ReplicaHealth::kDown);
  EXPECT_EQ(state_.View(kStart + 12 * kSecond).refusal, "device lost");
  load.failure.clear();
  load.draining = true;
  ASSERT_TRUE(state_.OnLoad(load, kStart + 12 * kSecond).ok());
  EXPECT_EQ(state_.Health(kStart + 12 * kSecond), ReplicaHealth::kDraining);
}

TEST_F(ReplicaStateTest, RefusesWhatItDoesNotExpect) {
  const auto refuses = [this](auto change) {
    ReplicaState state("chat/0", "tiny", "127.0.0.1:1", HealthLimits{}, kStart);
    state.OnOpen(kStart);
    WelcomeValue welcome = Welcome();
    change(welcome);
    const absl::Status status = state.OnWelcome(welcome, expected_, kStart);
    EXPECT_EQ(state.Health(kStart), ReplicaHealth::kDown) << status;
    EXPECT_NE(state.View(kStart).refusal, "");
    return status.code() == absl::StatusCode::kFailedPrecondition;
  };
  expected_.weights_digest = std::string("w");
  EXPECT_TRUE(refuses([](WelcomeValue& w) { w.model = std::string("other"); }));
  EXPECT_TRUE(refuses([](WelcomeValue& w) { w.vocab_size = 99; }));
  EXPECT_TRUE(refuses([](WelcomeValue& w) { w.protocol = 99; }));
  EXPECT_TRUE(refuses([](WelcomeValue& w) { w.weights_digest = std::string("x"); }));
}

TEST_F(ReplicaStateTest, RefusesLoadOfAnotherIncarnation) {
  state_.OnOpen(kStart);
  EXPECT_FALSE(state_.OnLoad(Load(), kStart).ok());
  ASSERT_TRUE(state_.OnWelcome(Welcome(5), expected_, kStart).ok());
  EXPECT_TRUE(state_.OnLoad(Load(5), kStart).ok());
  EXPECT_FALSE(state_.OnLoad(Load(6), kStart).ok());
}

TEST_F(ReplicaStateTest, BacksOffWithinBoundsAndStartsOverAfterAWelcome) {
  absl::Time now = kStart;
  absl::Duration last;
  for (int i = 0; i < 20; ++i) {
    ASSERT_TRUE(state_.ShouldOpen(now));
    EXPECT_EQ(state_.OnOpen(now), static_cast<uint64_t>(i + 1));
    state_.OnClosed(now, i % 2 == 0 ? 0.0 : 0.999);
    EXPECT_FALSE(state_.ShouldOpen(now + absl::Milliseconds(37)));
    EXPECT_TRUE(state_.ShouldOpen(now + absl::Milliseconds(2500)));
    now += absl::Seconds(3);
  }
  state_.OnOpen(now);
  ASSERT_TRUE(state_.OnWelcome(Welcome(), expected_, now).ok());
  state_.OnClosed(now, 0.5);
  EXPECT_TRUE(state_.ShouldOpen(now + absl::Milliseconds(50)));
}

TEST_F(ReplicaStateTest, CreditsSubmissionsUntilTheSecondReport) {
  state_.OnOpen(kStart);
  ASSERT_TRUE(state_.OnWelcome(Welcome(), expected_, kStart).ok());
  state_.OnSubmitted(100);
  ASSERT_TRUE(state_.OnLoad(Load(), kStart).ok());
  state_.OnSubmitted(30);
  EXPECT_EQ(state_.View(kStart).credit_tokens, 130);
  ASSERT_TRUE(state_.OnLoad(Load(), kStart).ok());
  EXPECT_EQ(state_.View(kStart).credit_tokens, 30);
  EXPECT_EQ(state_.View(kStart).inflight, 2);
  state_.OnEnded();
  state_.OnClosed(kStart, 0);
  EXPECT_EQ(state_.View(kStart).credit_tokens, 0);
  EXPECT_EQ(state_.View(kStart).inflight, 1);  // until its owner ends it
}

}  // namespace
}  // namespace shoal::router
