// SPDX-License-Identifier: Apache-2.0
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "worker/kv/kv_cache.h"
#include "worker/memory_check.h"
#include "worker/profile.h"

namespace shoal::worker {
namespace {

using testing::HasSubstr;

model::ModelSpec Spec(std::vector<int64_t> windows) {
  model::ModelSpec spec;
  for (const int64_t window : windows) {
    spec.kv_groups.push_back(
        {.window = window, .kv_heads = 3, .head_dim = 64, .layers = {0, 1, 2, 3}});
  }
  return spec;
}

config::EngineConfig Engine(int64_t memory_bytes) {
  config::EngineConfig engine;
  engine.kv.memory_bytes = memory_bytes;
  return engine;
}

// 16 tokens * 3 heads * 4 layers * 64 dims * 2 bytes * (k and v)
constexpr int64_t kBlock = 16 * 3 * 4 * 64 * 2 * 2;

TEST(KvPlan, GivesOneGroupEverythingThatHoldsWholeBlocks) {
  const auto plan = PlanKv(Spec({0}), Engine(10 * kBlock + kBlock - 1), kernels::DType::kF16);
  ASSERT_TRUE(plan.ok()) << plan.status().ToString();
  ASSERT_EQ(plan->groups.size(), 1u);
  EXPECT_EQ(plan->groups[0].arena, "kv group 0");
  EXPECT_EQ(plan->groups[0].blocks, 10);
  EXPECT_EQ(plan->bytes(), 10 * kBlock);
  EXPECT_EQ(plan->pool_tokens(), 160);
}

TEST(KvPlan, GivesWindowGroupsNoMoreThanTheyCanUse) {
  config::EngineConfig engine = Engine(1000 * kBlock);
  engine.max_sequences = 2;
  engine.max_batch_tokens = 64;
  const auto plan = PlanKv(Spec({0, 32}), engine, kernels::DType::kF16);
  ASSERT_TRUE(plan.ok()) << plan.status().ToString();
  EXPECT_EQ(plan->groups[1].blocks, 2 * ((32 + 64) / 16 + 2));
  EXPECT_EQ(plan->groups[0].blocks, 1000 - plan->groups[1].blocks);
  EXPECT_EQ(plan->pool_tokens(), plan->groups[0].blocks * 16);
}

TEST(KvPlan, ShowsTheArithmeticWhenTheMemoryIsTooSmall) {
  const auto plan = PlanKv(Spec({0}), Engine(2 * kBlock - 1), kernels::DType::kF16);
  EXPECT_EQ(plan.status().code(), absl::StatusCode::kResourceExhausted);
  const std::string message(plan.status().message());
  EXPECT_THAT(message, HasSubstr("engine.kv.memory"));
  EXPECT_THAT(message, HasSubstr("16 tokens * 3 kv heads * 4 layers * 64 dims * 2 bytes"));
  EXPECT_THAT(message, HasSubstr(std::to_string(2 * kBlock)));
}

TEST(KvPlan, CountsTheElementSize) {
  const auto plan = PlanKv(Spec({0}), Engine(10 * kBlock), kernels::DType::kF32);
  ASSERT_TRUE(plan.ok());
  EXPECT_EQ(plan->groups[0].blocks, 5);
}

TEST(MemoryCheck, AcceptsWhatFitsAndWhatIsNotKnown) {
  EXPECT_TRUE(CheckMemory({{"weights", 600}, {"KV cache", 400}}, 1000).ok());
  EXPECT_TRUE(CheckMemory({{"weights", 600}}, 0).ok());
}

TEST(MemoryCheck, NamesTheSumAndTheKeysWhenItDoesNotFit) {
  const absl::Status status =
      CheckMemory({{"weights", int64_t{100} << 20}, {"KV cache", int64_t{1} << 30}}, 1 << 20);
  EXPECT_EQ(status.code(), absl::StatusCode::kResourceExhausted);
  const std::string message(status.message());
  EXPECT_THAT(message, HasSubstr("weights 100 MiB + KV cache 1024 MiB = 1124 MiB"));
  EXPECT_THAT(message, HasSubstr("engine.kv.memory"));
}

TEST(MemoryCheck, ReadsWhatThisMachineHas) { EXPECT_GT(AvailableMemoryBytes(), 1 << 20); }

class FakeFile final : public model::ModelFile {
 public:
  explicit FakeFile(std::string type) : type_(std::move(type)) {}
  const model::ModelSpec& spec() const override { return spec_; }
  const std::string& weights_digest() const override { return type_; }
  std::vector<TensorInfo> tensors() const override {
    return {{.name = "norm", .type = "F32", .shape = {8}, .bytes = 32},
            {.name = "matrix", .type = type_, .shape = {8, 32}, .bytes = 160}};
  }
  absl::StatusOr<std::vector<std::pair<std::string, int64_t>>> PlanMemory(
      const kernels::Backend&, const model::DecoderOptions&) const override {
    return absl::UnavailableError("no backend");
  }
  absl::StatusOr<std::unique_ptr<model::Decoder>> CreateDecoder(
      kernels::Backend&, parallel::Communicator&, const model::DecoderOptions&) const override {
    return absl::UnavailableError("no backend");
  }

  model::ModelSpec spec_;

 private:
  std::string type_;
};

TEST(Profile, LogitsAreSizedByWhatAStepNeedsAndNotByItsTokens) {
  config::EngineConfig engine;
  engine.max_batch_tokens = 4096;
  engine.max_sequences = 64;
  EXPECT_EQ(LogitsRowsMax(engine), 64 + 128);
  engine.max_batch_tokens = 100;
  EXPECT_EQ(LogitsRowsMax(engine), 100);
  engine.max_batch_tokens = 16;
  EXPECT_EQ(LogitsRowsMax(engine), 16);
}

TEST(Profile, ResolvesAutoFromTheWeights) {
  const auto quantised = ResolveNumerics(FakeFile("Q4_1"), {});
  ASSERT_TRUE(quantised.ok());
  EXPECT_EQ(quantised->activation, kernels::Activation::kI8);
  EXPECT_EQ(quantised->kv_dtype, kernels::DType::kF16);
  EXPECT_EQ(quantised->shards, 24);
  const auto plain = ResolveNumerics(FakeFile("BF16"), {});
  ASSERT_TRUE(plain.ok());
  EXPECT_EQ(plain->activation, kernels::Activation::kF32);
  EXPECT_EQ(plain->kv_dtype, kernels::DType::kF32);
}

TEST(Profile, FollowsTheConfigAndNamesTheKeyOfUnknownValues) {
  config::ReplicaConfig replica;
  replica.numerics.activation = "float32";
  replica.numerics.shards = 4;
  replica.engine.kv.dtype = "float16";
  const auto numerics = ResolveNumerics(FakeFile("Q4_1"), replica);
  ASSERT_TRUE(numerics.ok());
  EXPECT_EQ(numerics->activation, kernels::Activation::kF32);
  EXPECT_EQ(numerics->kv_dtype, kernels::DType::kF16);
  EXPECT_EQ(numerics->shards, 4);
  replica.engine.kv.dtype = "int3";
  EXPECT_THAT(std::string(ResolveNumerics(FakeFile("Q4_1"), replica).status().message()),
              HasSubstr("engine.kv.dtype 'int3'"));
}

TEST(Profile, TheFingerprintChangesWithEverythingThatChangesBits) {
  const model::NumericsOptions base;
  const std::string fingerprint = SystemFingerprint("abc", "cpu", base);
  EXPECT_EQ(fingerprint, SystemFingerprint("abc", "cpu", base));
  EXPECT_EQ(fingerprint.size(), 19u);
  EXPECT_NE(fingerprint, SystemFingerprint("abd", "cpu", base));
  EXPECT_NE(fingerprint, SystemFingerprint("abc", "reference", base));
  model::NumericsOptions other = base;
  other.shards = 8;
  EXPECT_NE(fingerprint, SystemFingerprint("abc", "cpu", other));
  other = base;
  other.activation = kernels::Activation::kF32;
  EXPECT_NE(fingerprint, SystemFingerprint("abc", "cpu", other));
  other = base;
  other.kv_dtype = kernels::DType::kF32;
  EXPECT_NE(fingerprint, SystemFingerprint("abc", "cpu", other));
  other = base;
  other.long_rope = true;
  EXPECT_NE(fingerprint, SystemFingerprint("abc", "cpu", other));
}

TEST(Profile, TheServedContextChoosesTheRopeFactors) {
  model::LayerSpec layer;
  layer.attention.rope.original_context = 4096;
  layer.attention.rope.long_freq_factors = {2};
  FakeFile file("BF16");
  file.spec_.context = 131072;
  file.spec_.layers = {layer};
  config::ReplicaConfig replica;
  const auto long_rope = [&](int32_t max_context) {
    replica.engine.max_context = max_context;
    const auto numerics = ResolveNumerics(file, replica);
    EXPECT_TRUE(numerics.ok());
    return numerics.ok() && numerics->long_rope;
  };
  EXPECT_TRUE(long_rope(0));  // the model's
  EXPECT_TRUE(long_rope(4097));
  EXPECT_FALSE(long_rope(4096));
  file.spec_.layers[0].attention.rope.long_freq_factors.clear();
  EXPECT_FALSE(long_rope(0));
}

}  // namespace
}  // namespace shoal::worker
