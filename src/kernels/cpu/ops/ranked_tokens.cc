// SPDX-License-Identifier: Apache-2.0
#include "kernels/cpu/ops/ranked_tokens.h"

#include <algorithm>
#include <bit>
#include <functional>

#include "kernels/cpu/ops/op_kernels.h"

namespace shoal::kernels::cpu {
namespace {

// Ascending keys are descending logits, then ascending ids. Logits are never NaN or -0 here.
uint64_t KeyOf(float logit, int64_t token) {
  const uint32_t bits = std::bit_cast<uint32_t>(logit);
  const uint32_t ascending = (bits & 0x80000000) != 0 ? ~bits : bits | 0x80000000;
  return (static_cast<uint64_t>(~ascending) << 32) | static_cast<uint64_t>(token);
}

}  // namespace

void RankedTokens::Require(int64_t count) {
  count = std::min(count, n_);
  if (size() >= count) return;
  keys_.clear();
  const int64_t blocks = (n_ + kMaxBlock - 1) / kMaxBlock;
  if (2 * count <= blocks) {
    // At least `count` tokens reach the count-th largest block maximum.
    std::vector<float> maxima(block_max_, block_max_ + blocks);
    std::nth_element(maxima.begin(), maxima.begin() + (count - 1), maxima.end(),
                     std::greater<float>());
    CollectAtLeast(maxima[static_cast<size_t>(count - 1)]);
  } else {
    CollectAll(count);
  }
  std::sort(keys_.begin(), keys_.end());
}

void RankedTokens::RequireDownTo(float threshold) {
  if (size() == n_ || (size() > 0 && logit(size() - 1) < threshold)) return;
  // The last token's ties may be missing, so its own logit bounds the threshold.
  if (size() > 0) threshold = std::min(threshold, logit(size() - 1));
  keys_.clear();
  CollectAtLeast(threshold);
  std::sort(keys_.begin(), keys_.end());
}

void RankedTokens::CollectAtLeast(float threshold) {
  for (int64_t begin = 0; begin < n_; begin += kMaxBlock) {
    if (block_max_[begin / kMaxBlock] < threshold) continue;
    const int64_t end = std::min(n_, begin + kMaxBlock);
    for (int64_t i = begin; i < end; ++i) {
      if (clean_[i] >= threshold) keys_.push_back(KeyOf(clean_[i], i));
    }
  }
}

void RankedTokens::CollectAll(int64_t count) {
  keys_.reserve(static_cast<size_t>(n_));
  for (int64_t i = 0; i < n_; ++i) keys_.push_back(KeyOf(clean_[i], i));
  if (count < n_) {
    std::nth_element(keys_.begin(), keys_.begin() + count, keys_.end());
    keys_.resize(static_cast<size_t>(count));
  }
}

int64_t RankOf(const float* clean, int64_t n, int32_t token) {
  const float logit = clean[token];
  int64_t rank = 1;
  for (int64_t i = 0; i < token; ++i) rank += clean[i] >= logit ? 1 : 0;
  for (int64_t i = token + 1; i < n; ++i) rank += clean[i] > logit ? 1 : 0;
  return rank;
}

}  // namespace shoal::kernels::cpu
