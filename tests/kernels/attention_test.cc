// SPDX-License-Identifier: Apache-2.0
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <tuple>
#include <vector>

#include "kernels/cpu/ops/ops.h"
#include "kernels/reference/reference_ops.h"
#include "ops_fixture.h"

namespace shoal::kernels::cpu {
namespace {

AttentionCase SmallCase(std::vector<int64_t> lengths) {
  return {.lengths = std::move(lengths),
          .shape = {.query_heads = 3, .kv_heads = 1, .head_dim = 16, .scale = 0.25F}};
}

std::vector<std::vector<float>> Outputs(const AttentionCase& c, Isa isa, int threads,
                                        int64_t chunk) {
  CpuStream stream(isa, threads);
  const auto ops = CreateCpuAttentionOps(isa);
  PagedRun run(c, *ops, stream);
  run.RunInChunks(chunk);
  std::vector<std::vector<float>> outputs;
  for (size_t s = 0; s < c.lengths.size(); ++s) outputs.push_back(run.out(s));
  return outputs;
}

void ExpectSame(const std::vector<std::vector<float>>& a, const std::vector<std::vector<float>>& b,
                const std::string& what) {
  ASSERT_EQ(a.size(), b.size());
  for (size_t s = 0; s < a.size(); ++s) {
    EXPECT_TRUE(SameBits(a[s], b[s])) << what << ", sequence " << s;
  }
}

void ExpectNearReference(const AttentionCase& c, const std::vector<std::vector<float>>& outputs) {
  CpuStream stream(Isa::kPortable, 1);
  const auto ops = reference::CreateReferenceAttentionOps();
  PagedRun run(c, *ops, stream);
  run.RunInChunks(1 << 20);
  for (size_t s = 0; s < c.lengths.size(); ++s) {
    for (size_t i = 0; i < outputs[s].size(); ++i) {
      ASSERT_NEAR(outputs[s][i], run.out(s)[i], 3e-6F) << "sequence " << s << " element " << i;
    }
  }
}

struct Variation {
  const char* name;
  int64_t block_tokens;
  DType dtype;
  int64_t query_heads;
  int64_t kv_heads;
  int64_t head_dim;
  int64_t window;
  float softcap;
  bool alibi = false;
};

class AttentionVariations : public testing::TestWithParam<Variation> {};

TEST_P(AttentionVariations, AllInstructionSetsAndThreadCountsGiveThePortableBits) {
  const Variation& v = GetParam();
  AttentionCase c{.lengths = {1, 15, 16, 17, 63, 64, 65, 130},
                  .block_tokens = v.block_tokens,
                  .dtype = v.dtype,
                  .shape = {.query_heads = v.query_heads,
                            .kv_heads = v.kv_heads,
                            .head_dim = v.head_dim,
                            .scale = 1.0F / std::sqrt(static_cast<float>(v.head_dim)),
                            .window = v.window,
                            .softcap = v.softcap}};
  for (int64_t head = 0; v.alibi && head < v.query_heads; ++head) {
    c.shape.slopes.push_back(0.5F / static_cast<float>(head + 1));
  }
  const auto expected = Outputs(c, Isa::kPortable, 1, 1 << 20);
  ExpectNearReference(c, expected);
  for (Isa isa : SupportedIsas()) {
    for (int threads : {1, 2, 3}) {
      ExpectSame(expected, Outputs(c, isa, threads, 1 << 20), Name(isa));
    }
    ExpectSame(expected, Outputs(c, isa, 2, 23), std::string(Name(isa)) + " in chunks");
  }
}

INSTANTIATE_TEST_SUITE_P(
    Shapes, AttentionVariations,
    testing::Values(Variation{"mha_f16", 16, DType::kF16, 4, 4, 64, 0, 0},
                    Variation{"gqa_f16_block8", 8, DType::kF16, 6, 2, 64, 0, 0},
                    Variation{"mqa_f32_block64", 64, DType::kF32, 7, 1, 24, 0, 0},
                    Variation{"uneven_heads", 32, DType::kF16, 5, 3, 40, 0, 0},
                    Variation{"more_kv_heads", 16, DType::kF32, 2, 3, 16, 0, 0},
                    Variation{"window", 16, DType::kF16, 3, 1, 32, 20, 0},
                    Variation{"window_of_one", 16, DType::kF16, 3, 1, 16, 1, 0},
                    Variation{"window_of_tile", 8, DType::kF32, 2, 2, 8, 64, 0},
                    Variation{"softcap", 16, DType::kF16, 2, 1, 80, 0, 1.5F},
                    Variation{"alibi", 16, DType::kF32, 6, 2, 24, 0, 0, true},
                    Variation{"alibi_window_softcap", 8, DType::kF16, 3, 3, 16, 40, 5.0F, true},
                    Variation{"wide_head", 16, DType::kF16, 2, 1, 128, 0, 0},
                    Variation{"widest_head", 16, DType::kF32, 2, 1, 256, 0, 0}),
    [](const auto& param) { return std::string(param.param.name); });

TEST(Attention, LongContextsCrossSplitsWithTheSameBitsEverywhere) {
  const AttentionCase c = SmallCase({511, 512, 513, 1100});
  const auto expected = Outputs(c, Isa::kPortable, 1, 1 << 20);
  ExpectNearReference(c, expected);
  for (Isa isa : SupportedIsas()) {
    for (int threads : {1, 3}) {
      ExpectSame(expected, Outputs(c, isa, threads, 1 << 20), Name(isa));
    }
  }
}

TEST(Attention, AnyChunkingOfAPromptGivesTheSameRows) {
  const Isa isa = SupportedIsas().back();
  for (int64_t window : {0, 100, 600}) {
    AttentionCase c = SmallCase({1100});
    c.shape.window = window;
    const auto whole = Outputs(c, isa, 1, 1 << 20);
    ExpectNearReference(c, whole);
    for (int64_t chunk : {1, 5, 16, 64, 100, 512, 1099}) {
      ExpectSame(whole, Outputs(c, isa, 1, chunk), "chunk " + std::to_string(chunk));
    }
    // Decode rows of a long context on several threads take the path of separate splits.
    ExpectSame(whole, Outputs(c, isa, 3, 7), "splits as tasks");
  }
}

TEST(Attention, AlibiOfALongContextIsTheSameHoweverThePromptIsCut) {
  AttentionCase c = SmallCase({1100});
  c.shape.slopes = {0.25F, 0.0625F, 0.00390625F};
  const auto whole = Outputs(c, Isa::kPortable, 1, 1 << 20);
  ExpectNearReference(c, whole);
  for (int64_t chunk : {1, 100, 513}) {
    ExpectSame(whole, Outputs(c, SupportedIsas().back(), 2, chunk), std::to_string(chunk));
  }
}

TEST(Attention, ARowDoesNotDependOnWhatSharesTheBatch) {
  const Isa isa = SupportedIsas().back();
  AttentionCase c = SmallCase({70, 600, 33});
  c.shape.query_heads = 4;
  c.shape.kv_heads = 2;
  const auto expected = Outputs(c, isa, 1, 1 << 20);
  CpuStream stream(isa, 2);
  const auto ops = CreateCpuAttentionOps(isa);
  PagedRun run(c, *ops, stream);
  run.Step({{1, 0, 300}});
  run.Step({{0, 0, 69}, {1, 300, 299}});            // two prefills
  run.Step({{1, 599, 1}, {2, 0, 32}, {0, 69, 1}});  // decode, prefill, decode
  run.Step({{2, 32, 1}});                           // alone
  for (size_t s = 0; s < 3; ++s) EXPECT_TRUE(SameBits(expected[s], run.out(s))) << s;
}

TEST(Attention, NeverReadsBlocksBeforeTheWindow) {
  const Isa isa = SupportedIsas().back();
  AttentionCase c = SmallCase({200});
  c.shape.window = 30;
  const auto expected = Outputs(c, isa, 1, 1 << 20);
  CpuStream stream(isa, 1);
  const auto ops = CreateCpuAttentionOps(isa);
  PagedRun run(c, *ops, stream);
  run.Step({{0, 0, 150}});
  // The next query sees keys from 121 on: blocks 0 to 6 are gone.
  for (size_t i = 0; i < 7; ++i) run.table(0)[i] = -1000000;
  run.Step({{0, 150, 50}});
  EXPECT_TRUE(SameBits(expected[0], run.out(0)));
}

TEST(Attention, ALaterTokenThatIsNanLeavesEarlierRowsAlone) {
  for (Isa isa : SupportedIsas()) {
    const AttentionCase c = SmallCase({40});
    const auto expected = Outputs(c, isa, 1, 1 << 20);
    CpuStream stream(isa, 1);
    const auto ops = CreateCpuAttentionOps(isa);
    PagedRun run(c, *ops, stream);
    run.keys(0)[39 * 16] = std::nanf("");
    run.RunInChunks(1 << 20);
    const size_t clean = 39 * 48;
    EXPECT_TRUE(std::equal(run.out(0).begin(), run.out(0).begin() + clean, expected[0].begin()));
    EXPECT_TRUE(std::isnan(run.out(0)[clean])) << "a NaN key must not be hidden";
  }
}

TEST(Attention, LargeScoresStayFinite) {
  AttentionCase c = SmallCase({90});
  c.shape.scale = 3000;
  for (Isa isa : SupportedIsas()) {
    const auto outputs = Outputs(c, isa, 1, 1 << 20);
    for (float value : outputs[0]) ASSERT_TRUE(std::isfinite(value));
  }
}

TEST(Attention, OtherLayersAndHeadsOfTheCacheAreUntouched) {
  AttentionCase c = SmallCase({20});
  c.layers = 3;
  c.shape.kv_heads = 2;
  c.shape.query_heads = 2;
  const Isa isa = SupportedIsas().back();
  CpuStream stream(isa, 2);
  const auto ops = CreateCpuAttentionOps(isa);
  PagedRun run(c, *ops, stream);
  run.RunInChunks(1 << 20);
  const KvLayout layout{
      .block_tokens = 16, .kv_heads = 2, .layers = 3, .head_dim = 16, .dtype = DType::kF16};
  const auto span = static_cast<size_t>(layout.SpanBytes());
  size_t written = 0;
  for (size_t i = 0; i < run.bytes().size(); ++i) {
    const size_t layer = i / (2 * span) % 3;
    if (layer != 1) {
      ASSERT_EQ(run.bytes()[i], 0xFF) << i;
    }
    if (run.bytes()[i] != 0xFF) ++written;
  }
  EXPECT_GT(written, size_t{20 * 2 * 2 * 16});
}

TEST(KvLayout, RefusesWhatTheKernelsCannotRun) {
  const KvLayout good{
      .block_tokens = 16, .kv_heads = 3, .layers = 2, .head_dim = 64, .dtype = DType::kF16};
  EXPECT_TRUE(CheckKvLayout(good).ok());
  for (int64_t tokens : {0, 1, 4, 12, 24, 128, -16}) {
    KvLayout layout = good;
    layout.block_tokens = tokens;
    EXPECT_EQ(CheckKvLayout(layout).code(), absl::StatusCode::kInvalidArgument) << tokens;
  }
  for (int64_t dim : {0, 4, 12, 264}) {
    KvLayout layout = good;
    layout.head_dim = dim;
    EXPECT_EQ(CheckKvLayout(layout).code(), absl::StatusCode::kInvalidArgument) << dim;
  }
  KvLayout layout = good;
  layout.dtype = DType::kBF16;
  EXPECT_FALSE(CheckKvLayout(layout).ok());
  layout = good;
  layout.layers = 0;
  EXPECT_FALSE(CheckKvLayout(layout).ok());
}

TEST(KvLayout, QueryHeadRangesFollowTheHeadMap) {
  for (int64_t query_heads = 1; query_heads <= 12; ++query_heads) {
    for (int64_t kv_heads = 1; kv_heads <= 12; ++kv_heads) {
      int64_t next = 0;
      for (int64_t kv_head = 0; kv_head < kv_heads; ++kv_head) {
        const HeadRange range = QueryHeadsOf(kv_head, kv_heads, query_heads);
        EXPECT_EQ(range.begin, next);
        for (int64_t q = range.begin; q < range.end; ++q) {
          EXPECT_EQ(q * kv_heads / query_heads, kv_head);
        }
        next = range.end;
      }
      EXPECT_EQ(next, query_heads);
    }
  }
}

}  // namespace
}  // namespace shoal::kernels::cpu
