// SPDX-License-Identifier: Apache-2.0
#include "router/policy/policy.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>

#include "router/policy/decision_log.h"

namespace shoal::router {
namespace {

FleetSnapshot Fleet(size_t count) {
  FleetSnapshot fleet;
  for (size_t i = 0; i < count; ++i) {
    ReplicaView view;
    view.name = "r" + std::to_string(i);
    view.model = "m";
    view.health = ReplicaHealth::kReady;
    view.generation = 1;
    view.blocks_total = view.blocks_free = 100;
    view.fingerprint = "fp";
    fleet.replicas.push_back(view);
  }
  return fleet;
}

RouteRequest Ask(uint64_t ordinal, int64_t tokens = 100) {
  RouteRequest request;
  request.ordinal = ordinal;
  request.model = "m";
  request.tokens = tokens;
  return request;
}

TEST(Policy, NamesTheKnownOnesWhenAskedForAnother) {
  const auto policy = MakePolicy("random");
  ASSERT_FALSE(policy.ok());
  EXPECT_NE(policy.status().message().find("least-work"), absl::string_view::npos);
}

TEST(RoundRobin, TakesReplicasInTurn) {
  const auto policy = MakePolicy("round-robin");
  const FleetSnapshot fleet = Fleet(3);
  for (uint64_t i = 0; i < 9; ++i) {
    EXPECT_EQ(ChooseReplica(**policy, fleet, Ask(i))->replica, i % 3);
  }
}

TEST(Policy, SkipsReplicasThatAreNotReadyOfAnotherModelOrExcluded) {
  const auto policy = MakePolicy("least-work");
  FleetSnapshot fleet = Fleet(5);
  fleet.replicas[0].health = ReplicaHealth::kStalled;
  fleet.replicas[1].health = ReplicaHealth::kDraining;
  fleet.replicas[2].model = "other";
  RouteRequest request = Ask(0);
  request.excluded = {{3, 1}};
  EXPECT_EQ(ChooseReplica(**policy, fleet, request)->replica, 4u);
  fleet.replicas[4].health = ReplicaHealth::kDown;
  EXPECT_FALSE(ChooseReplica(**policy, fleet, request).has_value());
  fleet.replicas[3].generation = 2;  // the replica came back
  EXPECT_EQ(ChooseReplica(**policy, fleet, request)->replica, 3u);
}

TEST(Policy, PrefersTheNumericsProfileAndInsistsWhenToldTo) {
  const auto policy = MakePolicy("least-work");
  FleetSnapshot fleet = Fleet(2);
  fleet.replicas[1].fingerprint = "other";
  fleet.replicas[0].queued_tokens = 1'000'000;
  RouteRequest request = Ask(0);
  EXPECT_EQ(ChooseReplica(**policy, fleet, request)->replica, 1u);
  request.fingerprint = "fp";
  EXPECT_EQ(ChooseReplica(**policy, fleet, request)->replica, 0u);
  fleet.replicas[0].health = ReplicaHealth::kDown;
  EXPECT_EQ(ChooseReplica(**policy, fleet, request)->replica, 1u);
  request.require_fingerprint = true;
  EXPECT_FALSE(ChooseReplica(**policy, fleet, request).has_value());
}

TEST(LeastWork, WeighsQueueByThroughput) {
  const auto policy = MakePolicy("least-work");
  FleetSnapshot fleet = Fleet(2);
  fleet.replicas[0].queued_tokens = 3000;
  fleet.replicas[0].tokens_per_second = 10'000;
  fleet.replicas[1].queued_tokens = 1000;
  fleet.replicas[1].tokens_per_second = 1000;
  const auto route = ChooseReplica(**policy, fleet, Ask(0));
  EXPECT_EQ(route->replica, 0u);
  EXPECT_DOUBLE_EQ(route->reasons[0].score, 0.3);
  EXPECT_DOUBLE_EQ(route->reasons[1].score, 1.0);
}

TEST(LeastWork, PricesFullKvMemoryWithoutEverBeingInfinite) {
  const auto policy = MakePolicy("least-work");
  FleetSnapshot fleet = Fleet(2);
  fleet.replicas[0].blocks_free = 0;
  fleet.replicas[1].queued_tokens = 2000;  // one second at the default throughput
  const auto route = ChooseReplica(**policy, fleet, Ask(0));
  EXPECT_EQ(route->replica, 1u);
  EXPECT_TRUE(std::isfinite(route->reasons[0].score));
  EXPECT_NEAR(route->reasons[0].score, 0.15 * 0.98 / 0.02, 1e-9);
}

TEST(LeastWork, IgnoresThroughputsThatAreNoNumbers) {
  const auto policy = MakePolicy("least-work");
  FleetSnapshot fleet = Fleet(2);
  fleet.replicas[0].tokens_per_second = std::nan("");
  fleet.replicas[0].queued_tokens = 4000;
  fleet.replicas[1].tokens_per_second = -1;
  EXPECT_EQ(ChooseReplica(**policy, fleet, Ask(0))->replica, 1u);
}

// Between two load reports all decisions see the same reports; only the own credit changes.
TEST(LeastWork, SpreadsABurstThatNoReportShowsYet) {
  const auto policy = MakePolicy("least-work");
  for (const int64_t head_start : {0, 500}) {
    FleetSnapshot fleet = Fleet(4);
    fleet.replicas[2].queued_tokens = head_start;
    for (uint64_t i = 0; i < 400; ++i) {
      const auto route = ChooseReplica(**policy, fleet, Ask(i, 50 + static_cast<int64_t>(i % 7)));
      ReplicaView& chosen = fleet.replicas[route->replica];
      chosen.credit_tokens += 50 + static_cast<int64_t>(i % 7);
      ++chosen.inflight;
    }
    int64_t least = 1 << 30, most = 0;
    for (const ReplicaView& view : fleet.replicas) {
      const int64_t work = view.queued_tokens + view.credit_tokens;
      least = std::min(least, work);
      most = std::max(most, work);
    }
    EXPECT_LE(most - least, 57) << "more than one request apart";
  }
}

TEST(LeastWork, RotatesOverEqualReplicasWhileIdle) {
  const auto policy = MakePolicy("least-work");
  const FleetSnapshot fleet = Fleet(3);
  std::vector<int> taken(3);
  for (uint64_t i = 0; i < 30; ++i) ++taken[ChooseReplica(**policy, fleet, Ask(i))->replica];
  EXPECT_EQ(taken, (std::vector<int>{10, 10, 10}));
}

TEST(DecisionLog, KeepsTheLastDecisionsAndReplaysThem) {
  const auto policy = MakePolicy("least-work");
  DecisionLog log(4);
  FleetSnapshot fleet = Fleet(3);
  for (uint64_t i = 0; i < 10; ++i) {
    Decision decision;
    decision.policy = (*policy)->name();
    decision.fleet = fleet;
    decision.request = Ask(i);
    decision.inputs_digest = InputsDigest(decision.fleet, decision.request);
    decision.route = ChooseReplica(**policy, fleet, decision.request);
    fleet.replicas[decision.route->replica].credit_tokens += 100;
    log.Add(std::move(decision));
  }
  ASSERT_EQ(log.decisions().size(), 4u);
  for (const Decision& decision : log.decisions()) EXPECT_TRUE(Replays(**policy, decision));
  Decision wrong = log.decisions().front();
  wrong.fleet.replicas[0].queued_tokens += 1;
  EXPECT_FALSE(Replays(**policy, wrong));
  EXPECT_NE(Describe(log.decisions().front()).find("least-work -> r"), std::string::npos);
}

}  // namespace
}  // namespace shoal::router
