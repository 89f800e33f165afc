// SPDX-License-Identifier: Apache-2.0
// The most likely tokens of a row of logits in order: descending logit, ties by lower id.
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

namespace shoal::kernels::cpu {

// A sorted prefix of the vocabulary that grows on demand; small prefixes are selected with the
// block maxima and never sort the row. The row must outlive it. Not thread-safe.
class RankedTokens {
 public:
  // clean and block_max as OpKernels::clean_logits gives them; n >= 1.
  RankedTokens(const float* clean, const float* block_max, int64_t n)
      : clean_(clean), block_max_(block_max), n_(n) {}

  // Makes at least min(count, n) tokens available.
  void Require(int64_t count);

  // Makes all tokens with a logit of at least `threshold` available (and keeps those there are).
  void RequireDownTo(float threshold);

  int64_t size() const { return static_cast<int64_t>(keys_.size()); }
  int32_t token(int64_t rank) const {
    return static_cast<int32_t>(keys_[static_cast<size_t>(rank)] & 0xFFFFFFFF);
  }
  float logit(int64_t rank) const { return clean_[token(rank)]; }

 private:
  void CollectAtLeast(float threshold);
  void CollectAll(int64_t count);

  const float* const clean_;
  const float* const block_max_;
  const int64_t n_;
  std::vector<uint64_t> keys_;  // ascending: inverted order of the logit, then the id
};

// 1 for the first of the order, and so on; clean as above.
int64_t RankOf(const float* clean, int64_t n, int32_t token);

}  // namespace shoal::kernels::cpu
