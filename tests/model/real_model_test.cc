// SPDX-License-Identifier: Apache-2.0
// SmolLM2-135M-Instruct against what transformers answers on the dequantised file
// (scripts/make_real_goldens.py). Needs the model: SHOAL_TEST_MODEL names it, or the tests skip.
#include <sys/stat.h>

#include <cmath>
#include <cstdlib>
#include <fstream>
#include <string>
#include <vector>

#include "absl/strings/str_cat.h"
#include "gtest/gtest.h"
#include "model/runner.h"
#include "nlohmann/json.hpp"

namespace shoal::model::testing {
namespace {

using Json = nlohmann::json;

// Below this margin between the best two logits, rounding may choose either.
constexpr double kClearMargin = 0.02;
constexpr double kLogprobTolerance = 0.01;
// What llama.cpp's own int8 path differs by on the same file and tokens (bench/quality.py). Ours
// differs by 0.0344; with an int8 head it was 0.0381, which this bound refuses.
constexpr double kInt8MeanDifference = 0.0376;

double Logprob(const Row& row, int32_t token) {
  const double top = row[static_cast<size_t>(ArgMax(row))];
  double sum = 0;
  for (const float logit : row) sum += std::exp(static_cast<double>(logit) - top);
  return static_cast<double>(row[static_cast<size_t>(token)]) - top - std::log(sum);
}

class RealModel : public ::testing::Test {
 protected:
  void SetUp() override {
    const char* path = std::getenv("SHOAL_TEST_MODEL");
    if (path == nullptr || *path == '\0') {
      GTEST_SKIP() << "SHOAL_TEST_MODEL names no model file (scripts/fetch_model.sh gets it)";
    }
    path_ = path;
    std::ifstream file(
        absl::StrCat(SHOAL_SOURCE_DIR, "/tests/golden/real/smollm2-135m-instruct.json"));
    golden_ = Json::parse(file, nullptr, /*allow_exceptions=*/false);
    ASSERT_FALSE(golden_.is_discarded());
    struct stat info = {};
    ASSERT_EQ(stat(path, &info), 0) << path_;
    if (info.st_size != golden_["bytes"].get<int64_t>()) {
      GTEST_SKIP() << path_ << " is not the file the reference was made with (" << golden_["file"]
                   << ", " << golden_["bytes"] << " bytes)";
    }
  }

  // Runs every chat teacher-forced: the prompt whole, then one decode step per reference token.
  // `check` gets each step's logits and what the reference chose.
  template <typename Check>
  void ForEachStep(const RunnerOptions& options, Check check) {
    Runner runner(path_, options);
    int32_t sequence = 0;
    for (const Json& chat : golden_["chats"]) {
      const auto prompt = chat["prompt"].get<std::vector<int32_t>>();
      Row row = runner.Step({{.sequence = sequence, .tokens = prompt, .all_logits = false}})[0];
      for (const Json& step : chat["steps"]) {
        check(chat["user"].get<std::string>(), step, row);
        const auto token = step["token"].get<int32_t>();
        row = runner.Step({{.sequence = sequence, .tokens = {token}, .all_logits = false}})[0];
      }
      ++sequence;
    }
  }

  std::string path_;
  Json golden_;
};

TEST_F(RealModel, ChoosesTheTokensOfTransformersWhereTheMarginIsClear) {
  int64_t clear = 0;
  ForEachStep(Float32Options(128), [&](const std::string& chat, const Json& step, const Row& row) {
    const auto token = step["token"].get<int32_t>();
    EXPECT_NEAR(Logprob(row, token), step["logprob"].get<double>(), kLogprobTolerance) << chat;
    if (step["margin"].get<double>() <= kClearMargin) return;
    ++clear;
    EXPECT_EQ(ArgMax(row), token) << chat << ", margin " << step["margin"];
  });
  EXPECT_GT(clear, 200);  // of 240
}

TEST_F(RealModel, StaysNearTheFloat32LogprobsWithInt8Activations) {
  RunnerOptions options;
  options.decoder.max_batch_tokens = 128;
  double sum = 0;
  int64_t steps = 0;
  ForEachStep(options, [&](const std::string&, const Json& step, const Row& row) {
    const double difference =
        Logprob(row, step["token"].get<int32_t>()) - step["logprob"].get<double>();
    sum += std::abs(difference);
    ++steps;
  });
  const double mean = sum / static_cast<double>(steps);
  RecordProperty("mean_logprob_difference", std::to_string(mean));
  std::printf("mean |difference of logprobs| with int8 activations: %.4f\n", mean);
  EXPECT_LE(mean, kInt8MeanDifference);
}

}  // namespace
}  // namespace shoal::model::testing
