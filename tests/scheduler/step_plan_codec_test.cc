// SPDX-License-Identifier: Apache-2.0
#include "scheduler/types/step_plan_codec.h"

#include <gtest/gtest.h>
#include <xxhash.h>

#include <cstring>
#include <random>

namespace shoal::scheduler {
namespace {

StepPlan FullPlan() {
  StepPlan plan;
  plan.step = StepNumber(77);
  plan.removed = {SequenceId(3), SequenceId(uint64_t{1} << 63)};
  NewSequence added;
  added.sequence = SequenceId(5);
  added.tokens = {1, 2, 2147483647, 0};
  added.prompt_tokens = 3;
  added.sampling = {.temperature = 0.25F,
                    .top_k = 40,
                    .top_p = 0.5F,
                    .min_p = 0.125F,
                    .seed = ~uint64_t{0},
                    .choice = 2,
                    .logprobs = 5,
                    .prompt_logprobs = 0,
                    .repetition_penalty = 1.5F,
                    .presence_penalty = -2,
                    .frequency_penalty = 0.75F,
                    .logit_bias = {{.token = 7, .bias = -100}, {.token = 0, .bias = 0.5F}},
                    .min_tokens = 9,
                    .suppressed = {2, 1}};
  plan.added = {added};
  plan.appended = {{.sequence = SequenceId(5), .group = 1, .blocks = {9, 0, 4}},
                   {.sequence = SequenceId(6), .group = 0, .blocks = {}}};
  Slice prompt{.sequence = SequenceId(5),
               .first_position = 0,
               .count = 4,
               .input = std::nullopt,
               .logits = Logits::kAll,
               .sample = true,
               .sample_row = 0};
  Slice decode{.sequence = SequenceId(6),
               .first_position = 12,
               .count = 1,
               .input = TokenRef{.step = StepNumber(76), .row = 3},
               .logits = Logits::kLast,
               .sample = true,
               .sample_row = 1};
  Slice chunk{.sequence = SequenceId(7),
              .first_position = 64,
              .count = 64,
              .input = std::nullopt,
              .logits = Logits::kNone,
              .sample = false,
              .sample_row = -1};
  plan.sub_plans = {{.data_rank = 0, .micro_batch = 0, .slices = {prompt, decode}},
                    {.data_rank = 1, .micro_batch = 2, .slices = {chunk}}};
  plan.placement_version = 4;
  plan.dispatcher = 1;
  plan.bucket = 128;
  plan.digest = StepPlanDigest(plan);
  return plan;
}

// Makes the header agree with a changed body, as an attacker or a bug on the other side would.
void FixDigest(std::vector<uint8_t>& bytes) {
  const uint64_t digest = XXH3_64bits(bytes.data() + 12, bytes.size() - 12);
  std::memcpy(bytes.data() + 4, &digest, sizeof(digest));
}

TEST(StepPlanCodec, BringsBackEveryField) {
  const StepPlan plan = FullPlan();
  const absl::StatusOr<StepPlan> decoded = DecodeStepPlan(EncodeStepPlan(plan));
  ASSERT_TRUE(decoded.ok()) << decoded.status();
  EXPECT_TRUE(*decoded == plan);
}

TEST(StepPlanCodec, TheDigestCoversEveryField) {
  const StepPlan plan = FullPlan();
  std::vector<StepPlan> changed(12, plan);
  changed[0].step = StepNumber(78);
  changed[1].removed.pop_back();
  changed[2].added[0].tokens[1] = 3;
  changed[3].added[0].sampling.seed = 1;
  changed[4].added[0].sampling.temperature = 0.5F;
  changed[5].appended[0].blocks[2] = 5;
  changed[6].sub_plans[0].slices[1].input->row = 2;
  changed[7].sub_plans[0].slices[0].sample = false;
  changed[8].sub_plans[1].micro_batch = 1;
  changed[9].bucket = 64;
  changed[10].sub_plans[0].slices[0].logits = Logits::kLast;
  changed[11].appended[1].sequence = SequenceId(7);
  for (const StepPlan& other : changed) EXPECT_NE(StepPlanDigest(other), plan.digest);
}

TEST(StepPlanCodec, RefusesEveryCutAndEveryFlippedBit) {
  const std::vector<uint8_t> bytes = EncodeStepPlan(FullPlan());
  for (size_t size = 0; size < bytes.size(); ++size) {
    std::vector<uint8_t> cut(bytes.begin(), bytes.begin() + size);
    EXPECT_EQ(DecodeStepPlan(cut).status().code(), absl::StatusCode::kDataLoss) << size;
    if (cut.size() < 12) continue;
    FixDigest(cut);
    EXPECT_EQ(DecodeStepPlan(cut).status().code(), absl::StatusCode::kDataLoss) << size;
  }
  for (size_t bit = 0; bit < bytes.size() * 8; ++bit) {
    std::vector<uint8_t> flipped = bytes;
    flipped[bit / 8] ^= static_cast<uint8_t>(1 << (bit % 8));
    EXPECT_EQ(DecodeStepPlan(flipped).status().code(), absl::StatusCode::kDataLoss) << bit;
  }
  std::vector<uint8_t> longer = bytes;
  longer.push_back(0);
  FixDigest(longer);
  EXPECT_EQ(DecodeStepPlan(longer).status().code(), absl::StatusCode::kDataLoss);
}

TEST(StepPlanCodec, CorruptBytesBehindARightDigestNeverDecodeToSomethingElse) {
  const std::vector<uint8_t> bytes = EncodeStepPlan(FullPlan());
  std::mt19937_64 random(11);
  int refused = 0;
  for (int round = 0; round < 20000; ++round) {
    std::vector<uint8_t> corrupt = bytes;
    for (uint64_t changes = 1 + random() % 4; changes > 0; --changes)
      corrupt[12 + random() % (corrupt.size() - 12)] = static_cast<uint8_t>(random());
    FixDigest(corrupt);
    const absl::StatusOr<StepPlan> decoded = DecodeStepPlan(corrupt);
    if (!decoded.ok()) {
      ++refused;
      continue;
    }
    EXPECT_EQ(EncodeStepPlan(*decoded), corrupt);
  }
  EXPECT_GT(refused, 1000);
}

TEST(StepPlanCodec, AHugeListLengthAllocatesNothing) {
  StepPlan plan;
  plan.step = StepNumber(1);
  std::vector<uint8_t> bytes = EncodeStepPlan(plan);
  const size_t removed_length = 12 + 8 + 3 * 4;
  for (int i = 0; i < 4; ++i) bytes[removed_length + i] = 0xFF;
  FixDigest(bytes);
  EXPECT_EQ(DecodeStepPlan(bytes).status().code(), absl::StatusCode::kDataLoss);
}

}  // namespace
}  // namespace shoal::scheduler
