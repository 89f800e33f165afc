// SPDX-License-Identifier: Apache-2.0
#include "worker/fake_model.h"

#include <algorithm>
#include <cmath>
#include <cstring>

#include "base/check.h"
#include "base/mutex.h"
#include "base/philox.h"

namespace shoal::worker {
namespace {

uint64_t Mix(uint64_t state, uint64_t value) {
  state = (state ^ value) * 0x9E3779B97F4A7C15u;
  return state ^ (state >> 29);
}

// Logits of the next token behind `tokens`; a group with a window sees its last W tokens only.
void Logits(const std::vector<std::vector<int32_t>>& seen_by_group, int64_t vocab, float* out) {
  uint64_t state = 1;
  for (const std::vector<int32_t>& seen : seen_by_group) {
    for (const int32_t token : seen) state = Mix(state, static_cast<uint64_t>(token) + 1);
    state = Mix(state, 0xABCDEF);
  }
  for (int64_t v = 0; v < vocab; ++v) {
    const uint64_t bits = Mix(state, static_cast<uint64_t>(v) + 7) >> 40;
    out[v] = static_cast<float>(bits) / static_cast<float>(1 << 24) * 8.0f - 4.0f;
  }
}

kernels::SampledToken SampleOne(const float* logits, int64_t vocab, const kernels::SampleRow& row) {
  kernels::SampledToken out;
  int32_t best = 0;
  double best_score = -1e30;
  for (int32_t v = 0; v < vocab; ++v) {
    double score = logits[v];
    if (row.temperature > 0) {
      const auto random =
          Philox4x32({static_cast<uint32_t>(v), static_cast<uint32_t>(row.position), row.choice, 0},
                     {static_cast<uint32_t>(row.seed), static_cast<uint32_t>(row.seed >> 32)});
      const double uniform = (random[0] + 0.5) / 4294967296.0;
      score = score / row.temperature - std::log(-std::log(uniform));
    }
    if (score > best_score) {
      best_score = score;
      best = v;
    }
  }
  out.token = row.draw ? best : row.given_token;
  if (row.logprobs < 0) return out;
  double sum = 0;
  std::vector<int32_t> order;
  for (int32_t v = 0; v < vocab; ++v) {
    sum += std::exp(logits[v]);
    order.push_back(v);
    if (logits[v] > logits[out.token] || (logits[v] == logits[out.token] && v < out.token)) {
      ++out.rank;
    }
  }
  ++out.rank;
  const auto log_sum = static_cast<float>(std::log(sum));
  out.logprob = logits[out.token] - log_sum;
  std::stable_sort(order.begin(), order.end(),
                   [logits](int32_t a, int32_t b) { return logits[a] > logits[b]; });
  for (int32_t i = 0; i < row.logprobs; ++i) {
    const int32_t token = order[static_cast<size_t>(i)];
    out.top.push_back({.token = token, .logprob = logits[token] - log_sum});
  }
  return out;
}

}  // namespace

FakeDecoder::FakeDecoder(const FakeModelOptions& options) : options_(options) {
  spec_.vocab_size = options.vocab_size;
  for (const int64_t blocks : options.blocks) {
    const kernels::KvLayout layout{.block_tokens = options.block_tokens,
                                   .kv_heads = 1,
                                   .layers = 1,
                                   .head_dim = 1,
                                   .dtype = kernels::DType::kF32};
    bytes_.emplace_back(static_cast<size_t>(blocks * layout.BlockBytes()));
    pools_.push_back({.layout = layout, .base = bytes_.back().data(), .blocks = blocks});
  }
}

absl::StatusOr<kernels::Tensor> FakeDecoder::Forward(kernels::Stream&,
                                                     const model::ForwardInput& input) {
  const int64_t number = ++forwards_;
  PassGate(number);
  if (number == fail_at_) return absl::DataLossError("the fake device broke");
  const auto sequences = static_cast<int64_t>(input.batches[0].sequences.size());
  largest_batch_ = std::max<int64_t>(largest_batch_, sequences);
  const auto slot = [&](size_t group, const kernels::AttentionSequence& sequence, int64_t p) {
    const int64_t block = sequence.block_table[static_cast<size_t>(p / options_.block_tokens)];
    SHOAL_CHECK(block >= 0 && block < pools_[group].blocks);
    return pools_[group].base + block * pools_[group].layout.BlockBytes() +
           p % options_.block_tokens * int64_t{sizeof(int32_t)};
  };
  logits_.resize(input.logits_rows.size() * static_cast<size_t>(options_.vocab_size));
  for (size_t group = 0; group < pools_.size(); ++group) {
    for (const kernels::AttentionSequence& sequence : input.batches[group].sequences) {
      for (int64_t r = 0; r < sequence.rows; ++r) {
        const auto row = static_cast<size_t>(sequence.first_row + r);
        SHOAL_CHECK(input.positions[row] == sequence.first_position + r);
        std::memcpy(slot(group, sequence, sequence.first_position + r), &input.tokens[row],
                    sizeof(int32_t));
      }
    }
  }
  size_t wanted = 0;
  for (int64_t s = 0; s < sequences; ++s) {
    const kernels::AttentionSequence& rows = input.batches[0].sequences[static_cast<size_t>(s)];
    for (; wanted < input.logits_rows.size(); ++wanted) {
      const int64_t row = input.logits_rows[wanted];
      if (row >= rows.first_row + rows.rows) break;
      const int64_t position = rows.first_position + row - rows.first_row;
      std::vector<std::vector<int32_t>> seen(pools_.size());
      for (size_t group = 0; group < pools_.size(); ++group) {
        const int64_t window = options_.windows[group];
        const int64_t first = window > 0 ? std::max<int64_t>(0, position + 1 - window) : 0;
        const auto& sequence = input.batches[group].sequences[static_cast<size_t>(s)];
        for (int64_t p = first; p <= position; ++p) {
          int32_t token = 0;
          std::memcpy(&token, slot(group, sequence, p), sizeof(token));
          seen[group].push_back(token);
        }
      }
      Logits(seen, options_.vocab_size,
             logits_.data() + wanted * static_cast<size_t>(options_.vocab_size));
    }
  }
  SHOAL_CHECK(wanted == input.logits_rows.size());
  return kernels::Tensor(logits_.data(), kernels::DType::kF32,
                         {static_cast<int64_t>(wanted), options_.vocab_size});
}

void FakeDecoder::CloseAt(int64_t forward) {
  MutexLock lock(&mutex_);
  closed_from_ = forward;
}

void FakeDecoder::Open() {
  MutexLock lock(&mutex_);
  closed_from_ = kNever;
}

void FakeDecoder::AwaitBlocked() {
  MutexLock lock(&mutex_);
  mutex_.Await(absl::Condition(&blocked_));
}

void FakeDecoder::PassGate(int64_t forward) {
  MutexLock lock(&mutex_);
  const auto open = [&]() ABSL_NO_THREAD_SAFETY_ANALYSIS { return forward < closed_from_; };
  blocked_ = !open();
  mutex_.Await(absl::Condition(&open));
  blocked_ = false;
}

std::vector<kernels::SampledToken> FakeSampling::Sample(kernels::Stream&,
                                                        const kernels::Tensor& logits,
                                                        std::span<const kernels::SampleRow> rows) {
  std::vector<kernels::SampledToken> out;
  for (const kernels::SampleRow& row : rows) {
    SHOAL_CHECK(row.logits_row >= 0 && row.logits_row < logits.dim(0));
    out.push_back(SampleOne(logits.Row<float>(row.logits_row), logits.dim(1), row));
  }
  return out;
}

std::vector<int32_t> ExpectedTokens(const FakeModelOptions& options,
                                    const std::vector<int32_t>& prompt,
                                    const scheduler::SamplingParams& sampling,
                                    const scheduler::StopParams& stop) {
  std::vector<int32_t> tokens = prompt;
  std::vector<float> logits(static_cast<size_t>(options.vocab_size));
  for (int32_t i = 0; i < stop.max_tokens; ++i) {
    std::vector<std::vector<int32_t>> seen;
    for (const int64_t window : options.windows) {
      const auto length = static_cast<int64_t>(tokens.size());
      const int64_t first = window > 0 ? std::max<int64_t>(0, length - window) : 0;
      seen.emplace_back(tokens.begin() + first, tokens.end());
    }
    Logits(seen, options.vocab_size, logits.data());
    const kernels::SampledToken sampled =
        SampleOne(logits.data(), options.vocab_size,
                  {.temperature = sampling.temperature,
                   .seed = sampling.seed,
                   .choice = sampling.choice,
                   .position = static_cast<int64_t>(tokens.size())});
    tokens.push_back(sampled.token);
    const auto& stops = stop.stop_token_ids;
    if (std::find(stops.begin(), stops.end(), sampled.token) != stops.end()) break;
  }
  return {tokens.begin() + static_cast<int64_t>(prompt.size()), tokens.end()};
}

}  // namespace shoal::worker
