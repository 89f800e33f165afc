// SPDX-License-Identifier: Apache-2.0
// What a decoder promises beyond right logits: the same bits however rows are grouped, memory as
// predicted, and errors instead of undefined behaviour on bad input.
#include "model/decoder.h"

#include <cstring>
#include <random>
#include <string>
#include <vector>

#include "absl/strings/str_cat.h"
#include "gtest/gtest.h"
#include "model/runner.h"

namespace shoal::model::testing {
namespace {

std::string Golden(const std::string& name) {
  return absl::StrCat(SHOAL_SOURCE_DIR, "/tests/golden/models/", name);
}

std::vector<int32_t> RandomTokens(uint32_t seed, size_t count) {
  std::mt19937 random(seed);
  std::vector<int32_t> tokens(count);
  for (int32_t& token : tokens) token = static_cast<int32_t>(random() % 320);
  return tokens;
}

// Bits, not values: -0 and 0 differ, NaN equals itself.
::testing::AssertionResult SameBits(const std::vector<Row>& a, const std::vector<Row>& b) {
  if (a.size() != b.size()) {
    return ::testing::AssertionFailure() << a.size() << " rows against " << b.size();
  }
  for (size_t i = 0; i < a.size(); ++i) {
    if (a[i].size() != b[i].size() ||
        std::memcmp(a[i].data(), b[i].data(), a[i].size() * sizeof(float)) != 0) {
      return ::testing::AssertionFailure() << "row " << i << " differs";
    }
  }
  return ::testing::AssertionSuccess();
}

struct Setup {
  std::string name;
  std::string path;
  kernels::Activation activation;
  kernels::DType kv_dtype;
};

std::vector<Setup> Setups() {
  return {
      {"float32", "gqa-bias", kernels::Activation::kF32, kernels::DType::kF32},
      {"bf16", "mqa-llama3-tied", kernels::Activation::kF32, kernels::DType::kF16},
      {"q4_1_int8", "tiny-q4_1/tiny-q4_1.gguf", kernels::Activation::kI8, kernels::DType::kF16},
      {"q8_0_int8", "tiny-q8_0/tiny-q8_0.gguf", kernels::Activation::kI8, kernels::DType::kF32},
      {"q4_0_float32", "tiny-q4_0/tiny-q4_0.gguf", kernels::Activation::kF32, kernels::DType::kF16},
      {"q4_k_int8", "tiny-q4_k/tiny-q4_k.gguf", kernels::Activation::kI8, kernels::DType::kF16},
      {"two_groups", "gemma3-window", kernels::Activation::kF32, kernels::DType::kF16},
      {"fused_tensors", "gguf-phi3-q8_0/gguf-phi3-q8_0.gguf", kernels::Activation::kI8,
       kernels::DType::kF16},
      {"alibi", "bloom-alibi", kernels::Activation::kF32, kernels::DType::kF32},
  };
}

class DecoderBits : public ::testing::TestWithParam<Setup> {
 protected:
  static RunnerOptions Options() {
    RunnerOptions options;
    options.decoder.max_batch_tokens = 640;
    options.decoder.numerics.activation = GetParam().activation;
    options.decoder.numerics.kv_dtype = GetParam().kv_dtype;
    return options;
  }
  static Runner Open(const RunnerOptions& options) {
    return Runner(Golden(GetParam().path), options);
  }
};

TEST_P(DecoderBits, DoNotDependOnHowAPromptIsChunked) {
  const std::vector<int32_t> tokens = RandomTokens(1, 600);
  const std::vector<Row> whole = Open(Options()).Prefill(0, tokens, 640);
  for (const int64_t chunk : {1, 7, 16, 33, 65, 256}) {
    SCOPED_TRACE(absl::StrCat("chunks of ", chunk));
    EXPECT_TRUE(SameBits(whole, Open(Options()).Prefill(0, tokens, chunk)));
  }
}

TEST_P(DecoderBits, DoNotDependOnWhatSharesTheBatch) {
  constexpr int32_t kSequences = 5;
  std::vector<std::vector<int32_t>> prompts;
  for (const size_t length : {1, 16, 37, 64, 130}) {
    prompts.push_back(RandomTokens(static_cast<uint32_t>(length), length));
  }
  std::vector<Row> alone;
  for (const std::vector<int32_t>& prompt : prompts) {
    for (Row& row : Open(Options()).Prefill(0, prompt, 640)) alone.push_back(std::move(row));
  }
  // Uneven chunks, so that prefill and decode rows of different sequences meet in one step.
  Runner together = Open(Options());
  std::vector<std::vector<Row>> rows(kSequences);
  std::mt19937 random(7);
  std::vector<size_t> done(kSequences, 0);
  for (bool busy = true; busy;) {
    std::vector<Slice> slices;
    for (int32_t i = 0; i < kSequences; ++i) {
      const auto s = static_cast<size_t>(i);
      const size_t take = std::min<size_t>(1 + random() % 40, prompts[s].size() - done[s]);
      if (take == 0) continue;
      const auto begin = prompts[s].begin() + static_cast<ptrdiff_t>(done[s]);
      slices.push_back({.sequence = i,
                        .tokens = {begin, begin + static_cast<ptrdiff_t>(take)},
                        .all_logits = true});
      done[s] += take;
    }
    busy = !slices.empty();
    if (!busy) break;
    std::vector<Row> step = together.Step(slices);
    size_t next = 0;
    for (const Slice& slice : slices) {
      for (size_t i = 0; i < slice.tokens.size(); ++i) {
        rows[static_cast<size_t>(slice.sequence)].push_back(std::move(step[next++]));
      }
    }
  }
  std::vector<Row> batched;
  for (std::vector<Row>& sequence : rows) {
    for (Row& row : sequence) batched.push_back(std::move(row));
  }
  EXPECT_TRUE(SameBits(alone, batched));
}

TEST_P(DecoderBits, DoNotDependOnWhereBlocksLieNorOnTheBlockSize) {
  const std::vector<int32_t> tokens = RandomTokens(2, 300);
  const std::vector<Row> in_order = Open(Options()).Prefill(0, tokens, 64);
  RunnerOptions scattered = Options();
  scattered.scatter_seed = 5;
  EXPECT_TRUE(SameBits(in_order, Open(scattered).Prefill(0, tokens, 64)));
  for (const int64_t block_tokens : {8, 32, 64}) {
    scattered.block_tokens = block_tokens;
    EXPECT_TRUE(SameBits(in_order, Open(scattered).Prefill(0, tokens, 64)))
        << block_tokens << " tokens a block";
  }
}

TEST_P(DecoderBits, DoNotDependOnTheNumberOfThreads) {
  const std::vector<int32_t> tokens = RandomTokens(3, 200);
  RunnerOptions options = Options();
  const std::vector<Row> one = Open(options).Prefill(0, tokens, 90);
  options.threads = 2;
  EXPECT_TRUE(SameBits(one, Open(options).Prefill(0, tokens, 90)));
}

TEST_P(DecoderBits, DoNotDependOnWhichRowsOfLogitsAreAskedFor) {
  const std::vector<int32_t> tokens = RandomTokens(4, 40);
  const std::vector<Row> all = Open(Options()).Prefill(0, tokens, 640);
  const std::vector<Row> last =
      Open(Options()).Step({{.sequence = 0, .tokens = tokens, .all_logits = false}});
  EXPECT_TRUE(SameBits({all.back()}, last));
}

// The number of leaves is part of the numerics profile: were it ignored, a rank could not own some.
TEST_P(DecoderBits, DependOnTheNumberOfShards) {
  const std::vector<int32_t> tokens = RandomTokens(6, 20);
  RunnerOptions options = Options();
  const std::vector<Row> many = Open(options).Prefill(0, tokens, 640);
  options.decoder.numerics.shards = 1;
  EXPECT_FALSE(SameBits(many, Open(options).Prefill(0, tokens, 640)));
}

TEST_P(DecoderBits, TakeTheMemoryThatWasPredicted) {
  for (const char* backend : {"cpu", "reference"}) {
    RunnerOptions options = Options();
    options.backend = backend;
    Runner runner = Open(options);
    const auto planned = runner.file().PlanMemory(runner.backend(), options.decoder);
    ASSERT_TRUE(planned.ok()) << planned.status();
    EXPECT_EQ(*planned, runner.decoder().MemoryUse()) << backend;
    ASSERT_EQ(planned->size(), 2U);
    EXPECT_EQ((*planned)[0].first, "weights");
    EXPECT_EQ((*planned)[1].first, "activations");
    EXPECT_GT((*planned)[0].second, 0);
  }
}

INSTANTIATE_TEST_SUITE_P(All, DecoderBits, ::testing::ValuesIn(Setups()),
                         [](const auto& row) { return row.param.name; });

TEST(Decoder, PlansLogitsForTheRowsThatCanBeAskedFor) {
  const auto file = OpenModel(Golden("mha"));
  ASSERT_TRUE(file.ok()) << file.status();
  const auto backend = kernels::CreateBackend("cpu");
  ASSERT_TRUE(backend.ok()) << backend.status();
  DecoderOptions options;
  options.max_batch_tokens = 512;
  const auto all = (*file)->PlanMemory(**backend, options);
  options.max_logits_rows = 64;
  const auto few = (*file)->PlanMemory(**backend, options);
  ASSERT_TRUE(all.ok() && few.ok());
  // 448 rows fewer of logits (320 wide) and of the hidden state they come from (64 wide).
  EXPECT_EQ((*all)[1].second - (*few)[1].second, 448 * (320 + 64) * 4);
}

// One sequence of tokens 1, 2, 3 with every field ready to be spoilt.
struct Step {
  std::vector<int32_t> tokens{1, 2, 3};
  std::vector<int32_t> positions{0, 1, 2};
  std::vector<int32_t> table{0};
  std::vector<int32_t> logits_rows{2};
  std::vector<kernels::AttentionBatch> batches;
  std::vector<kernels::KvPool> pools;

  ForwardInput Input() const {
    return {.tokens = tokens,
            .positions = positions,
            .batches = batches,
            .pools = pools,
            .logits_rows = logits_rows};
  }
};

class DecoderInput : public ::testing::Test {
 protected:
  void SetUp() override {
    auto backend = kernels::CreateBackend("cpu");
    ASSERT_TRUE(backend.ok()) << backend.status();
    backend_ = *std::move(backend);
    auto stream = backend_->CreateStream({});
    ASSERT_TRUE(stream.ok()) << stream.status();
    stream_ = *std::move(stream);
    auto file = OpenModel(Golden("mha"));
    ASSERT_TRUE(file.ok()) << file.status();
    file_ = *std::move(file);
    auto decoder = file_->CreateDecoder(*backend_, *group_, options_);
    ASSERT_TRUE(decoder.ok()) << decoder.status();
    decoder_ = *std::move(decoder);
    kernels::KvPool pool{
        .layout = {.kv_heads = 4, .layers = 2, .head_dim = 16, .dtype = kernels::DType::kF16},
        .base = nullptr,
        .blocks = 1};
    bytes_.resize(static_cast<size_t>(pool.layout.BlockBytes()));
    pool.base = bytes_.data();
    step_.pools = {pool};
    step_.batches.resize(1);
    step_.batches[0].rows = 3;
    step_.batches[0].sequences = {
        {.first_row = 0, .rows = 3, .first_position = 0, .block_table = step_.table}};
  }

  // The message of the error that Forward gives now; "" where it succeeds.
  std::string Error() {
    const auto logits = decoder_->Forward(*stream_, step_.Input());
    if (logits.ok()) return "";
    EXPECT_EQ(logits.status().code(), absl::StatusCode::kInvalidArgument) << logits.status();
    return std::string(logits.status().message());
  }

  DecoderOptions options_{.numerics = {}, .max_batch_tokens = 4, .max_logits_rows = 2};
  std::unique_ptr<kernels::Backend> backend_;
  std::unique_ptr<kernels::Stream> stream_;
  std::unique_ptr<parallel::Communicator> group_ = parallel::CreateSingleRankCommunicator();
  std::unique_ptr<ModelFile> file_;
  std::unique_ptr<Decoder> decoder_;
  std::vector<uint8_t> bytes_;
  Step step_;
};

TEST_F(DecoderInput, IsRunWhenRight) {
  EXPECT_EQ(Error(), "");
  step_.logits_rows = {};
  const auto logits = decoder_->Forward(*stream_, step_.Input());
  ASSERT_TRUE(logits.ok());
  EXPECT_EQ(logits->dim(0), 0);
}

TEST_F(DecoderInput, IsRefusedWithATokenOutsideTheVocabulary) {
  step_.tokens[1] = 320;
  EXPECT_EQ(Error(), "forward: token 320 is outside the vocabulary of 320");
  step_.tokens[1] = -1;
  EXPECT_EQ(Error(), "forward: token -1 is outside the vocabulary of 320");
}

TEST_F(DecoderInput, IsRefusedWithMoreRowsThanPlanned) {
  step_.tokens.assign(5, 1);
  EXPECT_EQ(Error(), "forward: 5 rows, outside [1, 4]");
  step_.tokens.clear();
  EXPECT_EQ(Error(), "forward: 0 rows, outside [1, 4]");
}

TEST_F(DecoderInput, IsRefusedWhenItsPartsDisagree) {
  step_.positions.pop_back();
  EXPECT_EQ(Error(), "forward: 2 positions for 3 tokens");
  step_.positions = {0, 1, 2};
  step_.batches[0].rows = 2;
  EXPECT_EQ(Error(), "forward: the batch of KV group 0 has 2 rows, the step 3 tokens");
  step_.batches[0].rows = 3;
  step_.pools.clear();
  EXPECT_EQ(Error(), "forward: 1 batches and 0 pools for 1 KV groups");
}

TEST_F(DecoderInput, IsRefusedWithLogitsOfRowsThatAreNot) {
  step_.logits_rows = {3};
  EXPECT_EQ(Error(), "forward: logits of row 3 of 3");
  step_.logits_rows = {0, 1, 2};
  EXPECT_EQ(Error(), "forward: logits of 3 rows, above 2");
}

TEST_F(DecoderInput, IsRefusedWithAPoolOfAnotherShape) {
  step_.pools[0].layout.layers = 3;
  EXPECT_NE(Error().find("3 layers"), std::string::npos);
  step_.pools[0].layout.layers = 2;
  step_.pools[0].layout.dtype = kernels::DType::kF32;
  EXPECT_NE(Error().find("KV group 0"), std::string::npos);
}

TEST_F(DecoderInput, OptionsAreCheckedBeforeAnythingIsRead) {
  const auto error = [&](const DecoderOptions& options) {
    const auto decoder = file_->CreateDecoder(*backend_, *group_, options);
    EXPECT_FALSE(file_->PlanMemory(*backend_, options).ok());
    return decoder.ok() ? "" : std::string(decoder.status().message());
  };
  DecoderOptions options = options_;
  options.numerics.shards = 0;
  EXPECT_NE(error(options).find("numerics.shards is 0"), std::string::npos);
  options = options_;
  options.max_batch_tokens = 0;
  EXPECT_NE(error(options).find("max_batch_tokens is 0"), std::string::npos);
  options = options_;
  options.numerics.kv_dtype = kernels::DType::kI8;
  EXPECT_NE(error(options).find("kv.dtype"), std::string::npos);
  options = options_;
  options.topology = parallel::Topology({.tensor = 2, .pipeline = 1, .data = 1}, 0);
  EXPECT_NE(error(options).find("not available yet"), std::string::npos);
}

}  // namespace
}  // namespace shoal::model::testing
