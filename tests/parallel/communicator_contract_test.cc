// SPDX-License-Identifier: Apache-2.0
// What every Communicator must do, run over all implementations and group sizes. A new
// implementation joins by adding a row to Cases().
#include <algorithm>
#include <functional>
#include <memory>
#include <numeric>
#include <string>
#include <thread>
#include <vector>

#include "gtest/gtest.h"
#include "parallel/communicator.h"

namespace shoal::parallel {
namespace {

using Group = std::vector<std::unique_ptr<Communicator>>;

struct Case {
  std::string name;
  std::function<Group()> make;
};

std::vector<Case> Cases() {
  return {{.name = "SingleRank", .make = [] {
             Group group;
             group.push_back(CreateSingleRankCommunicator());
             return group;
           }}};
}

class CommunicatorContract : public ::testing::TestWithParam<Case> {
 protected:
  void SetUp() override { group_ = GetParam().make(); }
  int32_t size() const { return static_cast<int32_t>(group_.size()); }

  // Runs `work` once per rank, each on its own thread.
  void OnEveryRank(const std::function<void(Communicator&)>& work) {
    std::vector<std::thread> threads;
    threads.reserve(group_.size());
    for (auto& communicator : group_) {
      threads.emplace_back([&work, &communicator] { work(*communicator); });
    }
    for (std::thread& thread : threads) thread.join();
  }

  Group group_;
};

TEST_P(CommunicatorContract, NumbersItsRanksFromZero) {
  for (int32_t rank = 0; rank < size(); ++rank) {
    EXPECT_EQ(group_[static_cast<size_t>(rank)]->rank(), rank);
    EXPECT_EQ(group_[static_cast<size_t>(rank)]->size(), size());
  }
}

TEST_P(CommunicatorContract, GathersPiecesInRankOrder) {
  OnEveryRank([this](Communicator& communicator) {
    const std::vector<uint8_t> in(3, static_cast<uint8_t>(communicator.rank() + 1));
    std::vector<uint8_t> out(3 * group_.size(), 0xEE);
    ASSERT_TRUE(communicator.AllGather(in, out).ok());
    for (size_t i = 0; i < out.size(); ++i) EXPECT_EQ(out[i], i / 3 + 1);
  });
}

TEST_P(CommunicatorContract, GathersNothingFromEmptyPieces) {
  OnEveryRank([](Communicator& communicator) { EXPECT_TRUE(communicator.AllGather({}, {}).ok()); });
}

TEST_P(CommunicatorContract, SumsAndScattersInRankOrder) {
  OnEveryRank([this](Communicator& communicator) {
    std::vector<float> in(2 * group_.size());
    for (size_t i = 0; i < in.size(); ++i) {
      in[i] = static_cast<float>(i) + 100.0F * static_cast<float>(communicator.rank());
    }
    std::vector<float> out(2, -1);
    ASSERT_TRUE(communicator.ReduceScatter(in, out).ok());
    const auto ranks = static_cast<float>(size());
    for (size_t i = 0; i < out.size(); ++i) {
      const auto index = static_cast<float>(2 * communicator.rank()) + static_cast<float>(i);
      EXPECT_EQ(out[i], ranks * index + 100.0F * ranks * (ranks - 1) / 2);
    }
  });
}

TEST_P(CommunicatorContract, ExchangesUnevenPieces) {
  OnEveryRank([this](Communicator& communicator) {
    // Rank a sends a + b + 1 bytes of value 16 * a + b to rank b.
    const int64_t self = communicator.rank();
    std::vector<int64_t> counts;
    std::vector<uint8_t> in;
    std::vector<uint8_t> wanted;
    for (int64_t peer = 0; peer < size(); ++peer) {
      const auto count = static_cast<size_t>(self + peer + 1);
      counts.push_back(static_cast<int64_t>(count));
      in.insert(in.end(), count, static_cast<uint8_t>(16 * self + peer));
      wanted.insert(wanted.end(), count, static_cast<uint8_t>(16 * peer + self));
    }
    std::vector<uint8_t> out(wanted.size());
    ASSERT_TRUE(communicator.AllToAllV(in, counts, out, counts).ok());
    EXPECT_EQ(out, wanted);
  });
}

TEST_P(CommunicatorContract, BroadcastsFromEveryRoot) {
  for (int32_t root = 0; root < size(); ++root) {
    OnEveryRank([root](Communicator& communicator) {
      const bool sends = communicator.rank() == root;
      std::vector<uint8_t> data(5, sends ? 7 : 0);
      ASSERT_TRUE(communicator.Broadcast(data, root).ok());
      EXPECT_EQ(data, std::vector<uint8_t>(5, 7));
    });
  }
}

TEST_P(CommunicatorContract, PassesMessagesAroundARing) {
  if (size() == 1) GTEST_SKIP() << "a group of one has no peer; refused in another test";
  OnEveryRank([this](Communicator& communicator) {
    const int32_t next = (communicator.rank() + 1) % size();
    const int32_t previous = (communicator.rank() + size() - 1) % size();
    const std::vector<uint8_t> sent(4, static_cast<uint8_t>(communicator.rank()));
    std::vector<uint8_t> received(4, 0xEE);
    // Rank 0 starts, so that no implementation needs buffering.
    if (communicator.rank() == 0) {
      ASSERT_TRUE(communicator.Send(sent, next).ok());
      ASSERT_TRUE(communicator.Receive(received, previous).ok());
    } else {
      ASSERT_TRUE(communicator.Receive(received, previous).ok());
      ASSERT_TRUE(communicator.Send(sent, next).ok());
    }
    EXPECT_EQ(received, std::vector<uint8_t>(4, static_cast<uint8_t>(previous)));
  });
}

TEST_P(CommunicatorContract, RefusesWrongSizesBeforeAnyExchange) {
  OnEveryRank([this](Communicator& communicator) {
    std::vector<uint8_t> in(4);
    std::vector<uint8_t> out(4 * group_.size() + 1);
    EXPECT_EQ(communicator.AllGather(in, out).code(), absl::StatusCode::kInvalidArgument);
    std::vector<float> floats(2 * group_.size());
    std::vector<float> piece(3);
    EXPECT_EQ(communicator.ReduceScatter(floats, piece).code(), absl::StatusCode::kInvalidArgument);
    const std::vector<int64_t> counts(group_.size(), 3);
    EXPECT_EQ(communicator.AllToAllV(in, counts, out, counts).code(),
              absl::StatusCode::kInvalidArgument);
    const std::vector<int64_t> too_many(group_.size() + 1, 0);
    EXPECT_EQ(communicator.AllToAllV({}, too_many, {}, too_many).code(),
              absl::StatusCode::kInvalidArgument);
  });
}

TEST_P(CommunicatorContract, RefusesRanksOutsideTheGroupAndItself) {
  OnEveryRank([this](Communicator& communicator) {
    std::vector<uint8_t> data(1);
    for (const int32_t rank : {-1, size(), communicator.rank()}) {
      EXPECT_EQ(communicator.Send(data, rank).code(), absl::StatusCode::kInvalidArgument);
      EXPECT_EQ(communicator.Receive(data, rank).code(), absl::StatusCode::kInvalidArgument);
    }
    EXPECT_EQ(communicator.Broadcast(data, size()).code(), absl::StatusCode::kInvalidArgument);
    EXPECT_EQ(communicator.Broadcast(data, -1).code(), absl::StatusCode::kInvalidArgument);
  });
}

TEST_P(CommunicatorContract, FailsEveryCallAfterAbortWithTheFirstReason) {
  for (auto& communicator : group_) communicator->Abort("rank 1 died");
  for (auto& communicator : group_) communicator->Abort("a later reason");
  OnEveryRank([this](Communicator& communicator) {
    std::vector<uint8_t> in(1);
    std::vector<uint8_t> out(group_.size());
    std::vector<float> floats(group_.size());
    std::vector<float> piece(1);
    const std::vector<int64_t> counts(group_.size(), 1);
    const int32_t peer = (communicator.rank() + 1) % size();
    for (const absl::Status& status :
         {communicator.AllGather(in, out), communicator.ReduceScatter(floats, piece),
          communicator.AllToAllV(out, counts, out, counts), communicator.Broadcast(in, 0),
          communicator.Send(in, peer), communicator.Receive(in, peer)}) {
      EXPECT_EQ(status.code(), absl::StatusCode::kAborted);
      EXPECT_NE(status.message().find("rank 1 died"), absl::string_view::npos);
    }
  });
}

TEST_P(CommunicatorContract, AbortMayComeFromAnotherThread) {
  std::vector<std::thread> threads;
  for (auto& communicator : group_) {
    threads.emplace_back([&communicator] { communicator->Abort("watchdog"); });
  }
  OnEveryRank([this](Communicator& communicator) {
    std::vector<uint8_t> in(1);
    std::vector<uint8_t> out(group_.size());
    absl::Status status = communicator.AllGather(in, out);
    EXPECT_TRUE(status.ok() || absl::IsAborted(status)) << status;
  });
  for (std::thread& thread : threads) thread.join();
  std::vector<uint8_t> data(1);
  EXPECT_TRUE(absl::IsAborted(group_[0]->Broadcast(data, 0)));
}

INSTANTIATE_TEST_SUITE_P(All, CommunicatorContract, ::testing::ValuesIn(Cases()),
                         [](const auto& row) { return row.param.name; });

}  // namespace
}  // namespace shoal::parallel
