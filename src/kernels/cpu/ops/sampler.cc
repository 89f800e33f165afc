// SPDX-License-Identifier: Apache-2.0
#include "kernels/cpu/ops/sampler.h"

#include <algorithm>
#include <limits>
#include <vector>

#include "base/check.h"
#include "base/philox.h"
#include "kernels/cpu/ops/ranked_tokens.h"
#include "kernels/cpu/ops/scalar_math.h"

namespace shoal::kernels::cpu {
namespace {

constexpr float kMinusInfinity = -std::numeric_limits<float>::infinity();
constexpr int64_t kFirstCandidates = 64;
constexpr int64_t kCandidateGrowth = 16;
// Histogram that guesses how deep a large nucleus reaches: bins of 1/8 in (maximum - logit) /
// temperature. Only speed depends on it.
constexpr int kMassBins = 256;
constexpr float kBinsPerUnit = 8;

class RowSampler {
 public:
  // `memory` holds MemoryFloats(n).
  RowSampler(const OpKernels& kernels, const float* logits, int64_t n, float* memory)
      : kernels_(kernels), n_(n), sums_count_(Chunks(n)) {
    const int64_t blocks = Blocks(n);
    clean_ = memory;
    weights_ = memory + n;
    sums_ = memory + 2 * n;
    block_max_ = sums_ + sums_count_;
    kernels.clean_logits(logits, n, clean_, block_max_);
    maximum_ = *std::max_element(block_max_, block_max_ + blocks);
  }

  int32_t Choose(const SampleRow& row);
  void AddLogprobs(const SampleRow& row, SampledToken& result);

  static int64_t MemoryFloats(int64_t n) { return 2 * n + Chunks(n) + Blocks(n); }

 private:
  static int64_t Chunks(int64_t n) { return (n + kSumChunk - 1) / kSumChunk; }
  static int64_t Blocks(int64_t n) { return (n + kMaxBlock - 1) / kMaxBlock; }

  // The first token of the order.
  int32_t Greedy() const;
  // Chunk by chunk in double; fills weights_ if asked.
  double SumOfWeights(float factor, bool keep_weights);
  int32_t DrawById(double uniform, float factor);
  int32_t DrawRanked(const SampleRow& row, double uniform, float factor);
  // Ranks tokens until about `mass` of the row's weights_ is covered; how many there are then.
  int64_t RankMass(double mass, float factor, RankedTokens& ranked) const;
  // Weights of ranked tokens [weights.size(), count).
  void AppendWeights(const RankedTokens& ranked, int64_t count, float factor,
                     std::vector<float>& weights) const;

  const OpKernels& kernels_;
  const int64_t n_;
  const int64_t sums_count_;
  float* clean_ = nullptr;
  float* weights_ = nullptr;
  float* sums_ = nullptr;
  float* block_max_ = nullptr;
  float maximum_ = 0;
};

int32_t RowSampler::Greedy() const {
  int64_t block = 0;
  while (block_max_[block] < maximum_) ++block;
  int64_t token = block * kMaxBlock;
  while (clean_[token] < maximum_) ++token;
  return static_cast<int32_t>(token);
}

double RowSampler::SumOfWeights(float factor, bool keep_weights) {
  kernels_.exp_sums(clean_, n_, maximum_, factor, keep_weights ? weights_ : nullptr, sums_);
  double total = 0;
  for (int64_t i = 0; i < sums_count_; ++i) total += static_cast<double>(sums_[i]);
  return total;
}

int32_t RowSampler::Choose(const SampleRow& row) {
  if (maximum_ == kMinusInfinity) return 0;
  if (!(row.temperature >= kGreedyTemperature)) return Greedy();
  // Bounded away from 0, because -infinity times 0 is NaN.
  const float factor = std::max(1.0F / row.temperature, std::numeric_limits<float>::min());
  const bool filtered = (row.top_k > 0 && row.top_k < n_) || row.top_p < 1.0F || row.min_p > 0.0F;
  const double uniform = UniformOf(row);
  return filtered ? DrawRanked(row, uniform, factor) : DrawById(uniform, factor);
}

int32_t RowSampler::DrawById(double uniform, float factor) {
  const double target = uniform * SumOfWeights(factor, true);
  double before = 0;  // the chunks passed so far
  int64_t last_positive = 0;
  for (int64_t chunk = 0; chunk < sums_count_; ++chunk) {
    const double after = before + static_cast<double>(sums_[chunk]);
    // A chunk's own sum may differ from its sum one by one in the last bits: then its last token
    // with a weight is taken.
    if (sums_[chunk] > 0) {
      const int64_t end = std::min(n_, (chunk + 1) * kSumChunk);
      double running = before;
      for (int64_t i = chunk * kSumChunk; after > target && i < end; ++i) {
        if (weights_[i] > 0) last_positive = i;
        running += static_cast<double>(weights_[i]);
        if (running > target) return static_cast<int32_t>(i);
      }
      if (after > target) return static_cast<int32_t>(last_positive);
    }
    before = after;
  }
  return Greedy();  // uniform < 1, so this is reached only if rounding made target the whole sum
}

void RowSampler::AppendWeights(const RankedTokens& ranked, int64_t count, float factor,
                               std::vector<float>& weights) const {
  std::vector<float> logits;
  for (auto i = static_cast<int64_t>(weights.size()); i < count; ++i) {
    logits.push_back(ranked.logit(i));
  }
  if (logits.empty()) return;
  const auto added = static_cast<int64_t>(logits.size());
  std::vector<float> sums(static_cast<size_t>((added + kSumChunk - 1) / kSumChunk));
  const size_t old_size = weights.size();
  weights.resize(old_size + logits.size());
  kernels_.exp_sums(logits.data(), added, maximum_, factor, weights.data() + old_size, sums.data());
}

int64_t RowSampler::RankMass(double mass, float factor, RankedTokens& ranked) const {
  double bins[kMassBins] = {};
  const float scale = factor * kBinsPerUnit;
  for (int64_t i = 0; i < n_; ++i) {
    const float depth = std::min((maximum_ - clean_[i]) * scale, static_cast<float>(kMassBins - 1));
    bins[static_cast<int>(depth)] += static_cast<double>(weights_[i]);
  }
  int bin = 0;
  for (double sum = bins[0]; sum < mass && bin < kMassBins - 1;) sum += bins[++bin];
  ranked.RequireDownTo(bin == kMassBins - 1 ? kMinusInfinity
                                            : maximum_ - static_cast<float>(bin + 1) / scale);
  return ranked.size();
}

int32_t RowSampler::DrawRanked(const SampleRow& row, double uniform, float factor) {
  const bool limited = row.top_k > 0 && row.top_k < n_;
  const int64_t limit = limited ? row.top_k : n_;
  RankedTokens ranked(clean_, block_max_, n_);
  std::vector<float> weights;
  int64_t available = limited ? limit : std::min(limit, kFirstCandidates);
  ranked.Require(available);
  AppendWeights(ranked, available, factor, weights);
  double bound = std::numeric_limits<double>::infinity();
  if (row.top_p < 1.0F) {
    double total = 0;
    if (limited) {
      for (float weight : weights) total += static_cast<double>(weight);
    } else {
      total = SumOfWeights(factor, true);
    }
    bound = static_cast<double>(row.top_p) * total;
  }
  double kept_sum = 0;
  int64_t kept = 0;
  while (kept < limit && kept_sum < bound) {
    if (kept == available) {
      int64_t wanted = std::min(limit, available * kCandidateGrowth);
      if (available == kFirstCandidates && row.top_p < 1.0F) {
        wanted = std::max(available + 1, RankMass(bound, factor, ranked));
      }
      ranked.Require(wanted);
      available = wanted;
      AppendWeights(ranked, available, factor, weights);
    }
    const float weight = weights[static_cast<size_t>(kept)];
    if (kept > 0 && (weight < row.min_p || weight == 0.0F)) break;
    kept_sum += static_cast<double>(weight);
    ++kept;
  }
  const double target = uniform * kept_sum;
  double running = 0;
  for (int64_t i = 0; i < kept; ++i) {
    running += static_cast<double>(weights[static_cast<size_t>(i)]);
    if (running > target) return ranked.token(i);
  }
  return ranked.token(0);
}

void RowSampler::AddLogprobs(const SampleRow& row, SampledToken& result) {
  // Without any finite logit every logprob is -infinity.
  double log_sum = 0;
  if (maximum_ != kMinusInfinity) {
    log_sum = static_cast<double>(maximum_) + Log(SumOfWeights(1.0F, false));
  }
  const auto logprob_of = [&](float logit) {
    return static_cast<float>(static_cast<double>(logit) - log_sum);
  };
  result.logprob = logprob_of(clean_[result.token]);
  result.rank = RankOf(clean_, n_, result.token);
  const int64_t count = std::min<int64_t>(row.logprobs, n_);
  if (count == 0) return;
  RankedTokens ranked(clean_, block_max_, n_);
  ranked.Require(count);
  result.top.reserve(static_cast<size_t>(count));
  for (int64_t i = 0; i < count; ++i) {
    result.top.push_back({.token = ranked.token(i), .logprob = logprob_of(ranked.logit(i))});
  }
}

void Adjust(const LogitAdjustment& adjustment, int64_t n, float* logits) {
  for (const int32_t token : adjustment.suppressed) {
    SHOAL_CHECK(token >= 0 && token < n);
    logits[token] = kMinusInfinity;
  }
  for (const TokenBias& bias : adjustment.biases) {
    SHOAL_CHECK(bias.token >= 0 && bias.token < n);
    logits[bias.token] += bias.bias;
  }
  if (!adjustment.penalises()) return;
  for (const TokenUse& use : adjustment.uses) {
    SHOAL_CHECK(use.token >= 0 && use.token < n);
    float& logit = logits[use.token];
    logit =
        logit > 0 ? logit / adjustment.repetition_penalty : logit * adjustment.repetition_penalty;
    logit -= adjustment.frequency_penalty * static_cast<float>(use.generated);
    if (use.generated > 0) logit -= adjustment.presence_penalty;
  }
}

}  // namespace

double UniformOf(const SampleRow& row) {
  const auto position = static_cast<uint64_t>(row.position);
  const std::array<uint32_t, 4> random =
      Philox4x32({static_cast<uint32_t>(position), static_cast<uint32_t>(position >> 32),
                  row.choice, static_cast<uint32_t>(RandomPurpose::kSample)},
                 {static_cast<uint32_t>(row.seed), static_cast<uint32_t>(row.seed >> 32)});
  const uint64_t bits = (static_cast<uint64_t>(random[0]) << 32) | random[1];
  return static_cast<double>(bits >> 11) * 0x1p-53;
}

SampledToken SampleLogits(const OpKernels& kernels, const float* logits, int64_t n,
                          const SampleRow& row, Scratch& scratch) {
  SHOAL_CHECK(n >= 1);
  float* memory = scratch.Get<float>(RowSampler::MemoryFloats(n) + n);
  SampledToken result;
  bool chosen = false;
  if (!row.draw) {
    SHOAL_CHECK(row.given_token >= 0 && row.given_token < n);
    result.token = row.given_token;
    chosen = true;
  } else if (!row.adjustment.empty()) {
    float* adjusted = memory + RowSampler::MemoryFloats(n);
    std::copy_n(logits, n, adjusted);
    Adjust(row.adjustment, n, adjusted);
    result.token = RowSampler(kernels, adjusted, n, memory).Choose(row);
    chosen = true;
  }
  if (chosen && row.logprobs < 0) return result;
  RowSampler sampler(kernels, logits, n, memory);
  if (!chosen) result.token = sampler.Choose(row);
  if (row.logprobs >= 0) sampler.AddLogprobs(row, result);
  return result;
}

}  // namespace shoal::kernels::cpu
