// SPDX-License-Identifier: Apache-2.0
// Penalties, biases and suppressed tokens, as kernels/sampling.h defines them.
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <vector>

#include "kernels/cpu/ops/ops.h"
#include "kernels/reference/reference_ops.h"
#include "ops_fixture.h"

namespace shoal::kernels::cpu {
namespace {

SampledToken SampleWith(SamplingOps& ops, Isa isa, std::vector<float> logits,
                        const SampleRow& row) {
  CpuStream stream(isa, 1);
  return ops.Sample(stream, Matrix(logits, 1), {&row, 1})[0];
}

SampledToken Sample(const std::vector<float>& logits, const SampleRow& row) {
  const Isa isa = SupportedIsas().back();
  return SampleWith(*CreateCpuSamplingOps(isa), isa, logits, row);
}

SampleRow Greedy(const LogitAdjustment& adjustment, int32_t logprobs = -1) {
  return {.temperature = 0, .logprobs = logprobs, .adjustment = adjustment};
}

TEST(LogitAdjustment, DividesPositiveAndMultipliesNegativeLogitsOfUsedTokens) {
  const std::vector<TokenUse> uses = {{.token = 0, .generated = 0}, {.token = 2, .generated = 4}};
  const LogitAdjustment penalty{
      .repetition_penalty = 2, .uses = uses, .biases = {}, .suppressed = {}};
  EXPECT_EQ(Sample({3.0F, 1.6F, 0.0F}, Greedy(penalty)).token, 1);     // 1.5, 1.6
  EXPECT_EQ(Sample({3.4F, 1.6F, 0.0F}, Greedy(penalty)).token, 0);     // 1.7, 1.6
  EXPECT_EQ(Sample({-1.0F, -1.9F, -5.0F}, Greedy(penalty)).token, 1);  // -2, -1.9
}

TEST(LogitAdjustment, CountsOnlyGeneratedTokensForFrequencyAndPresence) {
  const std::vector<TokenUse> uses = {{.token = 0, .generated = 0}, {.token = 1, .generated = 3}};
  const LogitAdjustment frequency{
      .frequency_penalty = 0.5F, .uses = uses, .biases = {}, .suppressed = {}};
  EXPECT_EQ(Sample({1.0F, 2.4F}, Greedy(frequency)).token, 0);  // 2.4 - 1.5
  EXPECT_EQ(Sample({1.0F, 2.6F}, Greedy(frequency)).token, 1);
  const LogitAdjustment presence{
      .presence_penalty = 0.5F, .uses = uses, .biases = {}, .suppressed = {}};
  EXPECT_EQ(Sample({1.0F, 1.4F}, Greedy(presence)).token, 0);
  EXPECT_EQ(Sample({1.0F, 1.6F}, Greedy(presence)).token, 1);
}

TEST(LogitAdjustment, NegativePenaltiesFavourUsedTokens) {
  const std::vector<TokenUse> uses = {{.token = 1, .generated = 2}};
  const LogitAdjustment adjustment{.presence_penalty = -1,
                                   .frequency_penalty = -1,
                                   .uses = uses,
                                   .biases = {},
                                   .suppressed = {}};
  EXPECT_EQ(Sample({2.9F, 0.0F}, Greedy(adjustment)).token, 1);
  EXPECT_EQ(Sample({3.1F, 0.0F}, Greedy(adjustment)).token, 0);
}

TEST(LogitAdjustment, BiasesComeBeforePenaltiesAndSuppressedTokensStaySuppressed) {
  const std::vector<TokenUse> uses = {{.token = 0, .generated = 1}};
  const std::vector<TokenBias> biases = {{.token = 0, .bias = 4}, {.token = 2, .bias = 100}};
  const std::vector<int32_t> suppressed = {2};
  const LogitAdjustment adjustment{
      .repetition_penalty = 2, .uses = uses, .biases = biases, .suppressed = suppressed};
  // Token 0: (-1 + 4) / 2 = 1.5; the other order would give -1 * 2 + 4 = 2.
  EXPECT_EQ(Sample({-1.0F, 1.6F, 9.0F}, Greedy(adjustment)).token, 1);
  EXPECT_EQ(Sample({-1.0F, 1.4F, 9.0F}, Greedy(adjustment)).token, 0);
}

TEST(LogitAdjustment, LeavesLogprobsThoseOfTheRawLogits) {
  const std::vector<float> logits = RandomFloats(700, 3, 6);
  const int32_t best = Sample(logits, Greedy({})).token;
  const std::vector<int32_t> suppressed = {best};
  const SampledToken plain = Sample(logits, Greedy({}, 2));
  const SampledToken other =
      Sample(logits, Greedy({.uses = {}, .biases = {}, .suppressed = suppressed}, 2));
  EXPECT_EQ(other.token, plain.top[1].token);
  EXPECT_EQ(other.rank, 2);
  EXPECT_EQ(other.top, plain.top);
  EXPECT_EQ(other.logprob, plain.top[1].logprob);
}

TEST(LogitAdjustment, IsEqualOnAllInstructionSetsAndAgreesWithTheReference) {
  for (uint32_t seed = 1; seed <= 12; ++seed) {
    const std::vector<float> logits = RandomFloats(3000, seed, 4);
    std::vector<TokenUse> uses;
    std::vector<TokenBias> biases;
    for (int32_t token = 0; token < 3000; token += 3) {
      uses.push_back({.token = token, .generated = token % 5});
    }
    for (int32_t token = 0; token < 3000; token += 41) {
      biases.push_back({.token = token, .bias = static_cast<float>(token % 7) - 2});
    }
    const std::vector<int32_t> suppressed = {5, 6, 7};
    SampleRow row{.temperature = seed % 3 == 0 ? 0.0F : 0.8F,
                  .top_k = seed % 2 == 0 ? 50 : 0,
                  .top_p = seed % 4 == 0 ? 0.9F : 1.0F,
                  .seed = seed,
                  .position = 17,
                  .logprobs = 3,
                  .adjustment = {.repetition_penalty = 1.3F,
                                 .presence_penalty = 0.4F,
                                 .frequency_penalty = 0.2F,
                                 .uses = uses,
                                 .biases = biases,
                                 .suppressed = suppressed}};
    const auto portable = CreateCpuSamplingOps(Isa::kPortable);
    const SampledToken expected = SampleWith(*portable, Isa::kPortable, logits, row);
    const SampledToken reference =
        SampleWith(*reference::CreateReferenceSamplingOps(), Isa::kPortable, logits, row);
    EXPECT_EQ(expected.token, reference.token) << seed;
    EXPECT_NEAR(expected.logprob, reference.logprob, 2e-6);
    for (const Isa isa : SupportedIsas()) {
      const SampledToken actual = SampleWith(*CreateCpuSamplingOps(isa), isa, logits, row);
      EXPECT_EQ(actual.token, expected.token) << Name(isa);
      EXPECT_EQ(actual.logprob, expected.logprob) << Name(isa);
      EXPECT_EQ(actual.top, expected.top) << Name(isa);
    }
  }
}

}  // namespace
}  // namespace shoal::kernels::cpu
