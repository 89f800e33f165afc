// SPDX-License-Identifier: Apache-2.0
// StartWorker end to end on the small golden models: real weights, kernels and sampling behind
// loopback gRPC.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <memory>
#include <string>
#include <vector>

#include "worker/stream_client.h"
#include "worker/worker.h"

namespace shoal::worker {
namespace {

using testing::HasSubstr;

std::string Golden(const std::string& model) {
  return std::string(SHOAL_SOURCE_DIR) + "/tests/golden/models/" + model;
}

WorkerOptions Options(const std::string& model) {
  WorkerOptions options;
  options.model_name = "tiny";
  options.model_path = Golden(model);
  options.replica.name = "test";
  options.replica.engine.kv.memory_bytes = int64_t{8} << 20;
  options.replica.engine.max_batch_tokens = 64;
  options.replica.engine.max_sequences = 8;
  options.listen.host = "127.0.0.1";
  return options;
}

v1::Submit SampledSubmit(uint64_t sequence, int32_t length, int32_t max_tokens) {
  v1::Submit submit;
  submit.set_sequence(sequence);
  for (int32_t i = 0; i < length; ++i) {
    submit.add_tokens(
        static_cast<int32_t>((i * 31 + static_cast<int32_t>(sequence) * 17 + 5) % 200));
  }
  submit.set_prompt_tokens(length);
  submit.set_max_tokens(max_tokens);
  v1::SamplingParams& sampling = *submit.mutable_sampling();
  sampling.set_temperature(sequence % 2 == 0 ? 0.0f : 0.9f);
  sampling.set_top_p(1);
  sampling.set_seed(sequence * 1234567);
  sampling.set_logprobs(2);
  sampling.set_prompt_logprobs(-1);
  return submit;
}

// Tokens and logprobs of `submits`, run together or one after the other, by sequence.
std::vector<std::vector<std::pair<int32_t, float>>> RunAll(const WorkerOptions& options,
                                                           const std::vector<v1::Submit>& submits,
                                                           bool together) {
  std::vector<std::vector<std::pair<int32_t, float>>> results;
  absl::StatusOr<std::unique_ptr<Worker>> worker = StartWorker(options);
  EXPECT_TRUE(worker.ok()) << worker.status().ToString();
  if (!worker.ok()) return results;
  StreamClient client((*worker)->endpoint().ToString());
  client.Hello();
  if (together) {
    for (const v1::Submit& submit : submits) client.Submit(submit);
  }
  for (const v1::Submit& submit : submits) {
    if (!together) client.Submit(submit);
    EXPECT_TRUE(client.ReadEnd(submit.sequence()));
    EXPECT_EQ(client.seen(submit.sequence()).last.error(), "");
    std::vector<std::pair<int32_t, float>>& result = results.emplace_back();
    for (const v1::TokenOutput& output : client.seen(submit.sequence()).outputs) {
      result.emplace_back(output.token(), output.logprob());
    }
  }
  const absl::Status drained = (*worker)->Drain(absl::Seconds(60));
  EXPECT_TRUE(drained.ok()) << drained.ToString();
  return results;
}

// engine.kv.memory that holds about `tokens` tokens of this model.
int64_t MemoryFor(const WorkerOptions& options, int64_t tokens) {
  absl::StatusOr<std::unique_ptr<Worker>> worker = StartWorker(options);
  if (!worker.ok()) return 0;
  StreamClient client((*worker)->endpoint().ToString());
  client.Hello();
  if (!client.ReadUntil([&] { return !client.welcomes().empty(); })) return 0;
  return options.replica.engine.kv.memory_bytes / client.welcomes()[0].pool_tokens() * tokens;
}

class RealModel : public testing::TestWithParam<const char*> {};

TEST_P(RealModel, GivesTheSameBitsAloneTogetherPreemptedAndWithPlansInFlight) {
  std::vector<v1::Submit> submits;
  for (uint64_t i = 1; i <= 10; ++i) {
    submits.push_back(SampledSubmit(i, static_cast<int32_t>(1 + i * 19 % 90), 24));
  }
  WorkerOptions options = Options(GetParam());
  options.replica.engine.plans_in_flight = 1;
  options.replica.engine.prefix_cache = false;
  const auto alone = RunAll(options, submits, false);
  ASSERT_EQ(alone.size(), submits.size());
  for (const auto& result : alone) EXPECT_EQ(result.size(), 24u);
  options = Options(GetParam());
  EXPECT_EQ(RunAll(options, submits, true), alone);
  options.replica.engine.max_batch_tokens = 16;
  options.replica.threads_per_rank = 2;
  EXPECT_EQ(RunAll(options, submits, true), alone);
  // Room for the longest alone (90 + 24 tokens) and little more.
  options.replica.engine.kv.memory_bytes = MemoryFor(options, 150);
  EXPECT_EQ(RunAll(options, submits, true), alone);
}

INSTANTIATE_TEST_SUITE_P(Golden, RealModel,
                         testing::Values("gqa-bias", "mqa-llama3-tied", "tiny-q4_1/tiny-q4_1.gguf"),
                         [](const auto& tested) {
                           std::string name(tested.param);
                           for (char& c : name) c = std::isalnum(c) ? c : '_';
                           return name;
                         });

TEST(StartWorker, GreetsWithWhatTheModelIs) {
  absl::StatusOr<std::unique_ptr<Worker>> worker = StartWorker(Options("gqa-bias"));
  ASSERT_TRUE(worker.ok()) << worker.status().ToString();
  StreamClient client((*worker)->endpoint().ToString());
  client.Hello();
  ASSERT_TRUE(client.ReadUntil([&] { return !client.loads().empty(); }));
  const v1::Welcome& welcome = client.welcomes().at(0);
  EXPECT_EQ(welcome.model(), "tiny");
  EXPECT_NE(welcome.incarnation(), 0u);
  EXPECT_GT(welcome.vocab_size(), 0);
  EXPECT_GT(welcome.max_context(), 0);
  EXPECT_EQ(welcome.block_tokens(), 16);
  EXPECT_GT(welcome.pool_tokens(), 0);
  EXPECT_THAT(welcome.system_fingerprint(), testing::StartsWith("fp_"));
  EXPECT_FALSE(welcome.weights_digest().empty());
  EXPECT_EQ(client.loads().at(0).blocks_free(), client.loads().at(0).blocks_total());
}

TEST(StartWorker, NamesTheKeyWhenTheKvMemoryIsTooSmall) {
  WorkerOptions options = Options("gqa-bias");
  options.replica.engine.kv.memory_bytes = 100;
  const auto worker = StartWorker(options);
  EXPECT_EQ(worker.status().code(), absl::StatusCode::kResourceExhausted);
  EXPECT_THAT(std::string(worker.status().message()), HasSubstr("engine.kv.memory"));
}

TEST(StartWorker, NamesTheKeyWhenTheMachineHasTooLittleMemory) {
  WorkerOptions options = Options("gqa-bias");
  options.replica.engine.kv.memory_bytes = int64_t{1} << 50;
  const auto worker = StartWorker(options);
  EXPECT_EQ(worker.status().code(), absl::StatusCode::kResourceExhausted);
  EXPECT_THAT(std::string(worker.status().message()), HasSubstr("are available here"));
}

TEST(StartWorker, RefusesAContextTheModelWasNotTrainedFor) {
  WorkerOptions options = Options("gqa-bias");
  options.replica.engine.max_context = 1 << 30;
  EXPECT_THAT(std::string(StartWorker(options).status().message()),
              HasSubstr("engine.max_context 1073741824"));
}

TEST(StartWorker, RefusesAModelThatIsNotThere) {
  EXPECT_FALSE(StartWorker(Options("missing.gguf")).ok());
}

}  // namespace
}  // namespace shoal::worker
