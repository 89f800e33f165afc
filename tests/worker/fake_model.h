// SPDX-License-Identifier: Apache-2.0
// A fake model for worker tests: its logits are a hash of the tokens it can see through the block
// tables, so a wrong table, position or token changes what is generated.
#pragma once

#include <atomic>
#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "base/mutex.h"
#include "kernels/backend.h"
#include "model/decoder.h"
#include "scheduler/types/request.h"

namespace shoal::worker {

struct FakeModelOptions {
  int64_t vocab_size = 97;
  int64_t block_tokens = 4;
  std::vector<int64_t> blocks = {64};  // one KV group each
  std::vector<int64_t> windows = {0};
};

// Owns pools; writes each token into them as KvWrite would, and reads them back.
class FakeDecoder final : public model::Decoder {
 public:
  explicit FakeDecoder(const FakeModelOptions& options);

  const model::ModelSpec& spec() const override { return spec_; }
  absl::StatusOr<kernels::Tensor> Forward(kernels::Stream& stream,
                                          const model::ForwardInput& input) override;
  std::vector<std::pair<std::string, int64_t>> MemoryUse() const override { return {}; }

  std::span<const kernels::KvPool> pools() const { return pools_; }

  // Forwards that start from now on wait until Open.
  void Close() { CloseAt(1); }
  // Likewise, beginning with the Forward of this number (from 1).
  void CloseAt(int64_t forward);
  void Open();
  // Waits until a Forward stands at the closed gate.
  void AwaitBlocked();
  // The Forward with this number (from 1) fails.
  void FailAt(int64_t forward) { fail_at_ = forward; }
  // Sequences of the largest Forward so far.
  int64_t largest_batch() const { return largest_batch_; }
  int64_t forwards() const { return forwards_; }

 private:
  static constexpr int64_t kNever = INT64_MAX;

  void PassGate(int64_t forward);

  const FakeModelOptions options_;
  model::ModelSpec spec_;
  std::vector<std::vector<uint8_t>> bytes_;
  std::vector<kernels::KvPool> pools_;
  std::vector<float> logits_;
  std::atomic<int64_t> forwards_{0};
  std::atomic<int64_t> fail_at_{0};
  std::atomic<int64_t> largest_batch_{0};
  Mutex mutex_;
  // The first Forward that waits.
  int64_t closed_from_ ABSL_GUARDED_BY(mutex_) = kNever;
  bool blocked_ ABSL_GUARDED_BY(mutex_) = false;
};

class FakeStream final : public kernels::Stream {
 public:
  absl::Status Synchronize() override { return absl::OkStatus(); }
};

// Greedy at temperature 0, else Gumbel noise keyed by seed, choice and position.
class FakeSampling final : public kernels::SamplingOps {
 public:
  std::vector<kernels::SampledToken> Sample(kernels::Stream& stream, const kernels::Tensor& logits,
                                            std::span<const kernels::SampleRow> rows) override;
};

// What the fake model generates for a prompt, computed without a worker: at most `max_tokens`
// tokens, ending with a stop token.
std::vector<int32_t> ExpectedTokens(const FakeModelOptions& options,
                                    const std::vector<int32_t>& prompt,
                                    const scheduler::SamplingParams& sampling,
                                    const scheduler::StopParams& stop);

}  // namespace shoal::worker
