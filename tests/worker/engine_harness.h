// SPDX-License-Identifier: Apache-2.0
// An engine over the real scheduler, the real executor and the fake model, with a sink that keeps
// what every sequence got.
#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <string>
#include <vector>

#include "base/mutex.h"
#include "scheduler/scheduler.h"
#include "worker/engine/engine.h"
#include "worker/engine/monotonic_clock.h"
#include "worker/fake_model.h"

namespace shoal::worker {

// Everything one sequence got.
struct Outcome {
  std::vector<int32_t> tokens;
  std::vector<scheduler::TokenOutput> outputs;
  std::vector<scheduler::TokenOutput> prompt;
  int finishes = 0;
  scheduler::FinishReason reason = scheduler::FinishReason::kError;
  std::string error;
  absl::StatusCode code = absl::StatusCode::kOk;
  bool rejected = false;
  int32_t cached_tokens = 0;
};

class RecordingSink final : public DeltaSink {
 public:
  void Deliver(StreamId stream, std::vector<EngineDelta> deltas) override;
  void OnConditionChanged() override {}
  // Waits for the end of a client's sequence.
  Outcome AwaitEnd(uint64_t client_sequence);
  // Waits until it got this many tokens or has ended.
  void AwaitTokens(uint64_t client_sequence, size_t tokens);
  // What it got so far.
  Outcome Get(uint64_t client_sequence);

 private:
  Mutex mutex_;
  std::map<uint64_t, Outcome> outcomes_ ABSL_GUARDED_BY(mutex_);
};

struct HarnessOptions {
  FakeModelOptions model;
  EngineOptions engine;
  int32_t max_context = 200;
  int32_t max_batch_tokens = 16;
  int32_t max_sequences = 8;
  int32_t max_waiting = 64;
  int32_t plans_in_flight = 1;
  bool prefix_cache = true;
};

class EngineHarness {
 public:
  explicit EngineHarness(const HarnessOptions& options);
  ~EngineHarness();

  // Submits as client sequence `client` of stream `stream`.
  void Submit(uint64_t client, scheduler::Request request, uint64_t stream = 1);
  void Cancel(uint64_t client) { engine_->Cancel(scheduler::SequenceId(client)); }

  Engine& engine() { return *engine_; }
  RecordingSink& sink() { return sink_; }
  FakeDecoder& decoder() { return decoder_; }

 private:
  MonotonicClock clock_;
  RecordingSink sink_;
  FakeDecoder decoder_;
  FakeSampling sampling_;
  FakeStream stream_;
  std::unique_ptr<Engine> engine_;
};

// A request for `max_tokens` greedy tokens behind a prompt of `length` tokens that `salt` varies.
scheduler::Request MakeRequest(int32_t length, int32_t max_tokens, int32_t salt = 0);

}  // namespace shoal::worker
