// SPDX-License-Identifier: Apache-2.0
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <limits>
#include <set>
#include <vector>

#include "kernels/cpu/ops/ops.h"
#include "kernels/cpu/ops/ranked_tokens.h"
#include "kernels/cpu/ops/sampler.h"
#include "kernels/reference/reference_ops.h"
#include "ops_fixture.h"

namespace shoal::kernels::cpu {
namespace {

constexpr float kInfinity = std::numeric_limits<float>::infinity();
constexpr float kNan = std::numeric_limits<float>::quiet_NaN();

std::vector<SampledToken> SampleWith(Isa isa, int threads, std::vector<float> logits, int64_t rows,
                                     const std::vector<SampleRow>& requests) {
  CpuStream stream(isa, threads);
  return CreateCpuSamplingOps(isa)->Sample(stream, Matrix(logits, rows), requests);
}

SampledToken SampleOne(const std::vector<float>& logits, const SampleRow& row) {
  return SampleWith(SupportedIsas().back(), 1, logits, 1, {row})[0];
}

void ExpectSame(const std::vector<SampledToken>& a, const std::vector<SampledToken>& b) {
  ASSERT_EQ(a.size(), b.size());
  for (size_t i = 0; i < a.size(); ++i) {
    EXPECT_EQ(a[i].token, b[i].token) << i;
    EXPECT_EQ(a[i].rank, b[i].rank) << i;
    EXPECT_EQ(std::memcmp(&a[i].logprob, &b[i].logprob, sizeof(float)), 0) << i;
    EXPECT_EQ(a[i].top, b[i].top) << i;
  }
}

// One row of each kind.
std::vector<SampleRow> ManyRows(int64_t rows) {
  std::vector<SampleRow> requests;
  for (int64_t r = 0; r < rows; ++r) {
    for (int kind = 0; kind < 10; ++kind) {
      SampleRow row{.logits_row = r, .seed = 99, .position = 10 * r + kind, .logprobs = kind % 4};
      if (kind == 0) row.temperature = 0;
      if (kind == 2) row.top_k = 1 + static_cast<int32_t>(r) * 7;
      if (kind == 3) row.top_p = 0.3F + 0.05F * static_cast<float>(r);
      if (kind == 4) row.min_p = 0.02F;
      if (kind == 5) row.temperature = 5;
      if (kind == 6) row.top_k = 40, row.top_p = 0.9F, row.min_p = 0.01F, row.temperature = 0.7F;
      if (kind == 7) row.draw = false, row.given_token = static_cast<int32_t>(3 * r);
      if (kind == 8) row.top_p = 0.999F, row.temperature = 30;
      if (kind == 9) row.logprobs = -1;
      requests.push_back(row);
    }
  }
  return requests;
}

TEST(Sampling, AllInstructionSetsAndThreadCountsGiveThePortableBits) {
  for (int64_t vocabulary : {1, 5, 63, 64, 65, 1023, 1025, 5000}) {
    const auto logits = RandomFloats(8 * vocabulary, 3, 8);
    const auto requests = ManyRows(8);
    std::vector<SampleRow> valid;
    for (const SampleRow& row : requests) {
      if (row.draw || row.given_token < vocabulary) valid.push_back(row);
    }
    const auto expected = SampleWith(Isa::kPortable, 1, logits, 8, valid);
    for (Isa isa : SupportedIsas()) {
      for (int threads : {1, 2, 3})
        ExpectSame(expected, SampleWith(isa, threads, logits, 8, valid));
    }
  }
}

TEST(Sampling, AgreesWithTheReference) {
  auto logits = RandomFloats(8 * 3000, 4, 8);
  const auto requests = ManyRows(8);
  CpuStream stream(Isa::kPortable, 1);
  const auto expected =
      reference::CreateReferenceSamplingOps()->Sample(stream, Matrix(logits, 8), requests);
  const auto results = SampleWith(SupportedIsas().back(), 2, logits, 8, requests);
  for (size_t i = 0; i < results.size(); ++i) {
    EXPECT_EQ(results[i].token, expected[i].token) << i;
    EXPECT_EQ(results[i].rank, expected[i].rank) << i;
    EXPECT_NEAR(results[i].logprob, expected[i].logprob, 2e-6) << i;
    ASSERT_EQ(results[i].top.size(), expected[i].top.size());
    for (size_t j = 0; j < results[i].top.size(); ++j) {
      EXPECT_EQ(results[i].top[j].token, expected[i].top[j].token);
      EXPECT_NEAR(results[i].top[j].logprob, expected[i].top[j].logprob, 2e-6);
    }
  }
}

TEST(Sampling, GreedyTakesTheLowestIdOfATie) {
  std::vector<float> logits(500, -1.0F);
  logits[77] = logits[78] = logits[499] = 4.0F;
  EXPECT_EQ(SampleOne(logits, {.temperature = 0}).token, 77);
  logits.assign(500, -0.0F);
  logits[3] = 0.0F;  // equal to the others
  EXPECT_EQ(SampleOne(logits, {.temperature = 0}).token, 0);
}

TEST(Sampling, TinyTemperaturesAndTopPAreGreedyAndFinite) {
  const auto logits = RandomFloats(4000, 6, 10);
  const int32_t best = SampleOne(logits, {.temperature = 0}).token;
  for (float temperature : {1e-4F, 1e-5F, 9e-6F, 1e-6F, 1e-38F, 1e-45F, -1.0F, kNan}) {
    for (int64_t position = 0; position < 16; ++position) {
      const auto result =
          SampleOne(logits, {.temperature = temperature, .position = position, .logprobs = 1});
      EXPECT_EQ(result.token, best) << temperature;
      EXPECT_TRUE(std::isfinite(result.logprob));
    }
  }
  for (float top_p : {1e-4F, 1e-38F, 0.0F, -1.0F}) {
    EXPECT_EQ(SampleOne(logits, {.top_p = top_p, .seed = 5}).token, best) << top_p;
  }
  EXPECT_EQ(SampleOne(logits, {.min_p = 1.0F, .seed = 5}).token, best);
  EXPECT_EQ(SampleOne(logits, {.top_k = 1, .seed = 5}).token, best);
}

TEST(Sampling, HugeTemperaturesDrawNearlyUniformlyButNeverMaskedTokens) {
  std::vector<float> logits(64, 0.0F);
  logits[0] = 20;
  logits[9] = -kInfinity;
  for (float temperature : {1e6F, 3e38F, kInfinity}) {
    std::set<int32_t> seen;
    for (int64_t position = 0; position < 400; ++position) {
      seen.insert(SampleOne(logits, {.temperature = temperature, .position = position}).token);
    }
    EXPECT_GT(seen.size(), 55U) << temperature;
    EXPECT_EQ(seen.count(9), 0U);
  }
}

TEST(Sampling, TopKBeyondTheVocabularyIsClamped) {
  const auto logits = RandomFloats(100, 7, 3);
  for (int64_t position = 0; position < 20; ++position) {
    const auto off = SampleOne(logits, {.seed = 1, .position = position}).token;
    for (int32_t top_k : {0, -1, 100, 101, 9999999}) {
      EXPECT_EQ(SampleOne(logits, {.top_k = top_k, .seed = 1, .position = position}).token, off);
    }
    EXPECT_EQ(SampleOne(logits, {.logprobs = 1000000}).top.size(), 100U);
  }
}

TEST(Sampling, FiltersKeepExactlyTheirTokens) {
  // Probabilities 1/2, 1/4, 1/8, ... at ids in descending order.
  std::vector<float> logits(40);
  for (size_t i = 0; i < 40; ++i) {
    logits[39 - i] = -static_cast<float>(i) * std::log(2.0F);
  }
  const auto seen = [&](SampleRow row) {
    std::set<int32_t> tokens;
    for (row.position = 0; row.position < 500; ++row.position) {
      tokens.insert(SampleOne(logits, row).token);
    }
    return tokens;
  };
  EXPECT_EQ(seen({.top_k = 3}), (std::set<int32_t>{37, 38, 39}));
  EXPECT_EQ(seen({.top_p = 0.7F}), (std::set<int32_t>{38, 39}));
  EXPECT_EQ(seen({.top_p = 0.8F}), (std::set<int32_t>{37, 38, 39}));
  EXPECT_EQ(seen({.min_p = 0.2F}), (std::set<int32_t>{37, 38, 39}));
  // Top-p works on what top-k left: 4/7 is below 0.6, 6/7 is not.
  EXPECT_EQ(seen({.top_k = 3, .top_p = 0.6F}), (std::set<int32_t>{38, 39}));
  // Temperature comes first: at 1/2 the weights are 1, 1/4, 1/16.
  EXPECT_EQ(seen({.temperature = 0.5F, .min_p = 0.2F}), (std::set<int32_t>{38, 39}));
}

TEST(Sampling, TopKBreaksTiesByLowerId) {
  std::vector<float> logits(300, 1.0F);
  std::set<int32_t> seen;
  for (int64_t position = 0; position < 200; ++position) {
    seen.insert(SampleOne(logits, {.top_k = 4, .position = position}).token);
  }
  EXPECT_EQ(seen, (std::set<int32_t>{0, 1, 2, 3}));
}

TEST(Sampling, LargeNucleiGrowBeyondTheFirstCandidates) {
  // Uniform over 3000 tokens: top_p 0.5 keeps the first 1500 ids, whatever the growth steps.
  const std::vector<float> logits(3000, 2.0F);
  int32_t highest = 0;
  for (int64_t position = 0; position < 2000; ++position) {
    highest = std::max(highest, SampleOne(logits, {.top_p = 0.5F, .position = position}).token);
  }
  EXPECT_LT(highest, 1501);
  EXPECT_GT(highest, 1450);
}

double ChiSquare(const std::vector<float>& logits, SampleRow row, int64_t draws) {
  std::vector<double> counts(logits.size());
  std::vector<SampleRow> rows(static_cast<size_t>(draws), row);
  for (int64_t i = 0; i < draws; ++i) rows[static_cast<size_t>(i)].position = i;
  for (const SampledToken& result : SampleWith(SupportedIsas().back(), 1, logits, 1, rows)) {
    ++counts[static_cast<size_t>(result.token)];
  }
  double total = 0;
  for (float logit : logits) total += std::exp(double{logit} / double{row.temperature});
  double chi = 0;
  for (size_t i = 0; i < logits.size(); ++i) {
    const double expected =
        static_cast<double>(draws) * std::exp(double{logits[i]} / double{row.temperature}) / total;
    chi += (counts[i] - expected) * (counts[i] - expected) / expected;
  }
  return chi;
}

TEST(Sampling, DrawsFollowTheDistribution) {
  const auto logits = RandomFloats(20, 12, 1.5F);
  // 19 degrees of freedom: 43.8 is the 0.1 % point. Seeds are fixed, so this never flickers.
  for (uint64_t seed : {1, 2, 3}) {
    EXPECT_LT(ChiSquare(logits, {.seed = seed}, 20000), 43.8);
    EXPECT_LT(ChiSquare(logits, {.temperature = 2, .seed = seed}, 20000), 43.8);
    EXPECT_LT(ChiSquare(logits, {.min_p = 1e-9F, .seed = seed}, 20000), 43.8);
  }
}

TEST(Sampling, TheDrawDependsOnSeedChoiceAndPositionOnly) {
  SampleRow row{.logits_row = 3, .seed = 7, .choice = 1, .position = 1LL << 40};
  const double u = UniformOf(row);
  EXPECT_GE(u, 0);
  EXPECT_LT(u, 1);
  row.logits_row = 0;
  EXPECT_EQ(UniformOf(row), u);
  for (SampleRow other : {SampleRow{.seed = 8, .choice = 1, .position = 1LL << 40},
                          SampleRow{.seed = 7 + (1ULL << 32), .choice = 1, .position = 1LL << 40},
                          SampleRow{.seed = 7, .choice = 2, .position = 1LL << 40},
                          SampleRow{.seed = 7, .choice = 1, .position = (1LL << 40) + 1},
                          SampleRow{.seed = 7, .choice = 1, .position = 0}}) {
    EXPECT_NE(UniformOf(other), u);
  }
}

TEST(Sampling, NanAndInfiniteLogitsAreHandledAlikeEverywhere) {
  std::vector<float> logits = RandomFloats(200, 13);
  logits[0] = kNan;
  logits[5] = -kInfinity;
  logits[150] = kInfinity;
  logits[160] = kInfinity;
  for (Isa isa : SupportedIsas()) {
    const auto result = SampleWith(isa, 1, logits, 1, {{.logprobs = 200}})[0];
    EXPECT_TRUE(result.token == 150 || result.token == 160);
    for (const TokenLogprob& top : result.top) EXPECT_FALSE(std::isnan(top.logprob));
    EXPECT_EQ(result.top[0].token, 150);
    EXPECT_EQ(result.top[1].token, 160);
    const auto empty =
        SampleWith(isa, 1, {kNan, -kInfinity, kNan}, 1, {{.top_p = 0.5F, .logprobs = 3}})[0];
    EXPECT_EQ(empty.token, 0);
    EXPECT_EQ(empty.logprob, -kInfinity);
    EXPECT_EQ(empty.top.size(), 3U);
  }
}

TEST(Sampling, GivenTokensGetLogprobAndRankWithoutADraw) {
  const std::vector<float> logits = {0.0F, 3.0F, 1.0F, 3.0F};
  const double total = 1 + 2 * std::exp(3.0) + std::exp(1.0);
  const auto result = SampleOne(logits, {.draw = false, .given_token = 3, .logprobs = 0});
  EXPECT_EQ(result.token, 3);
  EXPECT_EQ(result.rank, 2);
  EXPECT_TRUE(result.top.empty());
  EXPECT_NEAR(result.logprob, 3 - std::log(total), 1e-6);
  const auto none = SampleOne(logits, {.draw = false, .given_token = 2});
  EXPECT_EQ(none.token, 2);
  EXPECT_EQ(none.rank, 0);
}

TEST(Sampling, LogprobsAreOfTheRawLogits) {
  const auto logits = RandomFloats(1000, 15, 5);
  const SampleRow plain{.temperature = 0, .logprobs = 3};
  const SampleRow filtered{.temperature = 0.1F, .top_k = 1, .logprobs = 3};
  ExpectSame({SampleOne(logits, plain)}, {SampleOne(logits, filtered)});
}

TEST(RankedTokens, EveryPrefixEqualsTheSortedVocabulary) {
  CpuStream stream(Isa::kPortable, 1);
  auto logits = RandomFloats(3000, 16);
  for (float& logit : logits) logit = std::round(logit * 40) / 40;  // many ties
  std::vector<float> clean(3000);
  std::vector<float> maxima(47);
  OpKernelsFor(Isa::kPortable).clean_logits(logits.data(), 3000, clean.data(), maxima.data());
  std::vector<int32_t> order(3000);
  std::iota(order.begin(), order.end(), 0);
  std::stable_sort(order.begin(), order.end(), [&](int32_t a, int32_t b) {
    return clean[static_cast<size_t>(a)] > clean[static_cast<size_t>(b)];
  });
  for (int64_t count : {1, 2, 20, 23, 24, 64, 1024, 2999, 3000, 5000}) {
    RankedTokens ranked(clean.data(), maxima.data(), 3000);
    ranked.Require(1);
    ranked.Require(count);
    ASSERT_GE(ranked.size(), std::min<int64_t>(count, 3000));
    for (int64_t i = 0; i < ranked.size(); ++i) {
      ASSERT_EQ(ranked.token(i), order[static_cast<size_t>(i)]) << count;
    }
  }
  for (int64_t i = 0; i < 3000; i += 37) {
    EXPECT_EQ(RankOf(clean.data(), 3000, order[static_cast<size_t>(i)]), i + 1);
  }
}

}  // namespace
}  // namespace shoal::kernels::cpu
