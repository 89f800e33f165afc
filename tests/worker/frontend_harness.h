// SPDX-License-Identifier: Apache-2.0
// A worker without a model file: the real front end, engine, scheduler and executor over the fake
// model, listening on a loopback port that the system picks.
#pragma once

#include <gtest/gtest.h>

#include <cstdint>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "base/check.h"
#include "shoal/v1/worker.pb.h"
#include "worker/engine/engine.h"
#include "worker/engine/monotonic_clock.h"
#include "worker/executor/local_executor.h"
#include "worker/fake_model.h"
#include "worker/frontend/frontend.h"

namespace shoal::worker {

inline constexpr uint64_t kIncarnation = 0xABCDEF;

struct ServerOptions {
  FakeModelOptions model{.blocks = {256}};
  FrontendLimits limits;
  std::string cluster_token;
  int32_t plans_in_flight = 2;
  int32_t max_waiting = 64;
};

// A worker without a model file.
class TestServer {
 public:
  explicit TestServer(const ServerOptions& options) : decoder_(options.model) {
    auto scheduler = scheduler::CreateScheduler({.block_tokens = 4,
                                                 .groups = {{.blocks = options.model.blocks[0]}},
                                                 .max_context = 400,
                                                 .max_batch_tokens = 32,
                                                 .max_sequences = 16,
                                                 .max_waiting = options.max_waiting,
                                                 .plans_in_flight = options.plans_in_flight,
                                                 .weights_digest = "fake"});
    SHOAL_CHECK(scheduler.ok());
    const RankParts parts{.decoder = &decoder_,
                          .sampling = &sampling_,
                          .stream = &stream_,
                          .pools = decoder_.pools()};
    engine_ = std::make_unique<Engine>(
        EngineOptions{}, *std::move(scheduler),
        std::make_unique<LocalExecutor>(parts, static_cast<size_t>(options.plans_in_flight) + 1),
        clock_);
    FrontendOptions frontend;
    frontend.identity = {.incarnation = kIncarnation,
                         .model = "fake",
                         .weights_digest = "digest",
                         .system_fingerprint = "fp_fake",
                         .max_context = 400,
                         .vocab_size = 97,
                         .block_tokens = 4,
                         .pool_tokens = 1024,
                         .max_sequences = 16};
    frontend.limits = options.limits;
    frontend.listen.host = "127.0.0.1";
    frontend.cluster_token = options.cluster_token;
    frontend_ = std::make_unique<Frontend>(frontend, *engine_, clock_);
    const absl::Status started = frontend_->Start();
    SHOAL_CHECK(started.ok());
    engine_->Start(*frontend_);
  }

  ~TestServer() {
    decoder_.Open();
    engine_->Stop();
    frontend_->Stop();
  }

  std::string address() const { return frontend_->endpoint().ToString(); }
  FakeDecoder& decoder() { return decoder_; }
  Engine& engine() { return *engine_; }
  Frontend& frontend() { return *frontend_; }

  // Everything that was accepted has ended and no block is held.
  void ExpectClean() {
    engine_->StartDrain();
    const absl::Status drained = engine_->AwaitDrained(absl::Seconds(60));
    EXPECT_TRUE(drained.ok()) << drained.ToString();
  }

 private:
  MonotonicClock clock_;
  FakeDecoder decoder_;
  FakeSampling sampling_;
  FakeStream stream_;
  std::unique_ptr<Engine> engine_;
  std::unique_ptr<Frontend> frontend_;
};

// `max_tokens` greedy tokens behind a prompt of `length` tokens that the number varies.
v1::Submit MakeSubmit(uint64_t sequence, int32_t length, int32_t max_tokens);

// What the fake model generates for it.
std::vector<int32_t> Expected(const v1::Submit& submit);

}  // namespace shoal::worker
