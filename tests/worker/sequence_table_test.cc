// SPDX-License-Identifier: Apache-2.0
// What a sequence asks of the sampler for its next token.
#include "worker/executor/sequence_table.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <map>

#include "worker/fake_model.h"

namespace shoal::worker {
namespace {

using scheduler::SequenceId;

class SequenceTableTest : public testing::Test {
 protected:
  // Sequence 1 with the given tokens, of which the first three are the prompt.
  SequenceState* Add(std::vector<scheduler::TokenId> tokens, scheduler::SamplingParams sampling) {
    scheduler::StepPlan plan;
    plan.added.push_back({.sequence = SequenceId(1),
                          .tokens = std::move(tokens),
                          .prompt_tokens = 3,
                          .sampling = std::move(sampling)});
    EXPECT_TRUE(table_.Update(plan).ok());
    return *table_.Find(SequenceId(1));
  }

  FakeDecoder decoder_{FakeModelOptions{}};
  SequenceTable table_{decoder_.pools(), 97};
};

std::map<int32_t, int32_t> Counts(const SequenceState& state) {
  std::map<int32_t, int32_t> counts;
  for (const kernels::TokenUse& use : state.Adjustment().uses) {
    EXPECT_TRUE(counts.emplace(use.token, use.generated).second) << use.token;
  }
  return counts;
}

TEST_F(SequenceTableTest, CountsPromptAndGeneratedTokensApart) {
  scheduler::SamplingParams sampling;
  sampling.frequency_penalty = 0.5F;
  SequenceState* state = Add({4, 5, 4, 5, 6}, sampling);  // 5 and 6 were generated before
  EXPECT_EQ(Counts(*state), (std::map<int32_t, int32_t>{{4, 0}, {5, 1}, {6, 1}}));
  state->Append(6);
  state->Append(4);
  EXPECT_EQ(Counts(*state), (std::map<int32_t, int32_t>{{4, 1}, {5, 1}, {6, 2}}));
}

TEST_F(SequenceTableTest, CountsTheSameWhereverTheSequenceWasResumed) {
  scheduler::SamplingParams sampling;
  sampling.repetition_penalty = 1.1F;
  SequenceState* state = Add({4, 5, 4}, sampling);
  for (const int32_t token : {5, 6, 6, 4}) state->Append(token);
  const auto whole = Counts(*state);
  scheduler::StepPlan removal;
  removal.removed.push_back(SequenceId(1));
  ASSERT_TRUE(table_.Update(removal).ok());
  state = Add({4, 5, 4, 5, 6}, sampling);
  for (const int32_t token : {6, 4}) state->Append(token);
  EXPECT_EQ(Counts(*state), whole);
}

TEST_F(SequenceTableTest, SuppressesEndTokensUntilTheLeastNumberIsGenerated) {
  scheduler::SamplingParams sampling;
  sampling.min_tokens = 2;
  sampling.suppressed = {90, 91};
  SequenceState* state = Add({4, 5, 4}, sampling);
  EXPECT_THAT(state->Adjustment().suppressed, testing::ElementsAre(90, 91));
  state->Append(7);
  EXPECT_THAT(state->Adjustment().suppressed, testing::ElementsAre(90, 91));
  state->Append(8);
  EXPECT_TRUE(state->Adjustment().suppressed.empty());
  EXPECT_TRUE(state->Adjustment().empty());
}

TEST_F(SequenceTableTest, KeepsNoCountsWithoutAPenalty) {
  scheduler::SamplingParams sampling;
  sampling.logit_bias = {{.token = 3, .bias = -5}};
  SequenceState* state = Add({4, 5, 4}, sampling);
  state->Append(9);
  EXPECT_TRUE(state->Adjustment().uses.empty());
  EXPECT_THAT(state->Adjustment().biases, testing::ElementsAre(kernels::TokenBias{3, -5}));
}

TEST_F(SequenceTableTest, RefusesBiasedAndSuppressedTokensOutsideTheVocabulary) {
  for (const bool bias : {true, false}) {
    scheduler::StepPlan plan;
    scheduler::SamplingParams sampling;
    if (bias) sampling.logit_bias = {{.token = 97, .bias = 1}};
    if (!bias) sampling.suppressed = {-1};
    plan.added.push_back(
        {.sequence = SequenceId(1), .tokens = {1}, .prompt_tokens = 1, .sampling = sampling});
    EXPECT_EQ(table_.Update(plan).code(), absl::StatusCode::kInternal);
  }
}

}  // namespace
}  // namespace shoal::worker
