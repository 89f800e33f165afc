// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <cmath>
#include <limits>
#include <numeric>
#include <vector>

#include "base/check.h"
#include "base/philox.h"
#include "kernels/reference/reference_ops.h"

namespace shoal::kernels::reference {
namespace {

double Uniform(const SampleRow& row) {
  const auto position = static_cast<uint64_t>(row.position);
  const auto random =
      Philox4x32({static_cast<uint32_t>(position), static_cast<uint32_t>(position >> 32),
                  row.choice, static_cast<uint32_t>(RandomPurpose::kSample)},
                 {static_cast<uint32_t>(row.seed), static_cast<uint32_t>(row.seed >> 32)});
  const uint64_t bits = (static_cast<uint64_t>(random[0]) << 32) | random[1];
  return std::ldexp(static_cast<double>(bits >> 11), -53);
}

std::vector<double> Clean(const float* logits, int64_t n) {
  std::vector<double> clean;
  for (int64_t i = 0; i < n; ++i) {
    const float bounded = std::min(logits[i], std::numeric_limits<float>::max());
    clean.push_back(std::isnan(logits[i]) ? -std::numeric_limits<double>::infinity()
                                          : double{bounded});
  }
  return clean;
}

// The logits a token is drawn from.
std::vector<double> Adjusted(std::vector<double> logits, const LogitAdjustment& adjustment) {
  const auto at = [&](int32_t token) -> double& { return logits[static_cast<size_t>(token)]; };
  for (int32_t token : adjustment.suppressed) at(token) = -std::numeric_limits<double>::infinity();
  for (const TokenBias& bias : adjustment.biases) at(bias.token) += double{bias.bias};
  for (const TokenUse& use : adjustment.uses) {
    const double penalty = adjustment.repetition_penalty;
    at(use.token) *= at(use.token) > 0 ? 1 / penalty : penalty;
    at(use.token) -= double{adjustment.frequency_penalty} * use.generated;
    at(use.token) -= use.generated > 0 ? double{adjustment.presence_penalty} : 0;
  }
  return logits;
}

// All tokens, descending logit, ties by lower id.
std::vector<int32_t> Order(const std::vector<double>& logits) {
  std::vector<int32_t> order(logits.size());
  std::iota(order.begin(), order.end(), 0);
  std::stable_sort(order.begin(), order.end(), [&](int32_t a, int32_t b) {
    return logits[static_cast<size_t>(a)] > logits[static_cast<size_t>(b)];
  });
  return order;
}

int32_t Draw(const std::vector<double>& logits, const std::vector<int32_t>& order,
             const SampleRow& row) {
  const auto n = static_cast<int64_t>(order.size());
  const auto weight_of = [&](int32_t token) {
    return std::exp(
        (logits[static_cast<size_t>(token)] - logits[static_cast<size_t>(order.front())]) /
        double{row.temperature});
  };
  const bool limited = row.top_k > 0 && row.top_k < n;
  const bool filtered = limited || row.top_p < 1 || row.min_p > 0;
  std::vector<int32_t> kept = order;
  if (!filtered) std::sort(kept.begin(), kept.end());
  if (limited) kept.resize(static_cast<size_t>(row.top_k));
  double total = 0;
  for (int32_t token : kept) total += weight_of(token);
  double sum = total;
  if (filtered) {
    sum = 0;
    size_t count = 0;
    const double bound =
        row.top_p < 1 ? double{row.top_p} * total : std::numeric_limits<double>::infinity();
    while (count < kept.size() && sum < bound) {
      const double weight = weight_of(kept[count]);
      if (count > 0 && (weight < double{row.min_p} || weight == 0)) break;
      sum += weight;
      ++count;
    }
    kept.resize(std::max<size_t>(1, count));
  }
  const double target = Uniform(row) * sum;
  double running = 0;
  for (int32_t token : kept) {
    running += weight_of(token);
    if (running > target) return token;
  }
  return order.front();
}

int32_t Choose(const std::vector<double>& logits, const SampleRow& row) {
  const std::vector<int32_t> order = Order(logits);
  const bool empty = std::isinf(logits[static_cast<size_t>(order.front())]);
  if (empty) return 0;
  return row.temperature >= 1e-5F ? Draw(logits, order, row) : order.front();
}

class ReferenceSamplingOps final : public SamplingOps {
 public:
  std::vector<SampledToken> Sample(Stream& stream, const Tensor& logits,
                                   std::span<const SampleRow> rows) override {
    std::vector<SampledToken> results;
    for (const SampleRow& row : rows) {
      results.push_back(SampleOne(logits.Row<float>(row.logits_row), logits.dim(1), row));
    }
    return results;
  }

 private:
  static SampledToken SampleOne(const float* raw, int64_t n, const SampleRow& row) {
    const std::vector<double> logits = Clean(raw, n);
    const std::vector<int32_t> order = Order(logits);
    const double maximum = logits[static_cast<size_t>(order.front())];
    const bool empty = std::isinf(maximum);
    SampledToken result;
    if (!row.draw) {
      SHOAL_CHECK(row.given_token >= 0 && row.given_token < n);
      result.token = row.given_token;
    } else {
      result.token = Choose(Adjusted(logits, row.adjustment), row);
    }
    if (row.logprobs < 0) return result;
    double log_sum = 0;
    if (!empty) {
      for (double logit : logits) log_sum += std::exp(logit - maximum);
      log_sum = maximum + std::log(log_sum);
    }
    const auto logprob_of = [&](int32_t token) {
      return static_cast<float>(logits[static_cast<size_t>(token)] - log_sum);
    };
    result.logprob = logprob_of(result.token);
    result.rank = std::find(order.begin(), order.end(), result.token) - order.begin() + 1;
    for (int64_t i = 0; i < std::min<int64_t>(row.logprobs, n); ++i) {
      const int32_t token = order[static_cast<size_t>(i)];
      result.top.push_back({.token = token, .logprob = logprob_of(token)});
    }
    return result;
  }
};

}  // namespace

std::unique_ptr<SamplingOps> CreateReferenceSamplingOps() {
  return std::make_unique<ReferenceSamplingOps>();
}

}  // namespace shoal::kernels::reference
