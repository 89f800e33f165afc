// SPDX-License-Identifier: Apache-2.0
// Tiny random models against what transformers computes for them (scripts/make_goldens.py, which
// also describes the file): with float32 activations and KV, every logit of every position within
// 1e-3 of the position's largest, and the same greedy tokens.
#include <algorithm>
#include <cmath>
#include <cstdint>
#include <cstring>
#include <limits>
#include <string>
#include <vector>

#include "absl/strings/str_cat.h"
#include "base/mapped_file.h"
#include "gtest/gtest.h"
#include "model/runner.h"

namespace shoal::model::testing {
namespace {

constexpr double kTolerance = 1e-3;
constexpr int64_t kRowsMax = 1100;

struct GoldenPosition {
  float largest = 0;          // max |logit|
  float log_sum_exp = 0;      // over the whole vocabulary
  std::vector<float> logits;  // of some columns
};

struct GoldenPrompt {
  std::vector<int32_t> tokens;
  std::vector<GoldenPosition> positions;
  std::vector<int32_t> continuation;
};

struct Golden {
  int64_t vocabulary = 0;
  int64_t columns = 0;
  std::vector<GoldenPrompt> prompts;
};

// Reads the file front to back; a file that ends early fails the test.
class Reader {
 public:
  explicit Reader(const MappedFile& file) : file_(file) {}
  template <typename T>
  T Next() {
    T value{};
    SHOAL_CHECK(offset_ + static_cast<int64_t>(sizeof(T)) <= file_.size());
    std::memcpy(&value, file_.data() + offset_, sizeof(T));
    offset_ += static_cast<int64_t>(sizeof(T));
    return value;
  }
  bool AtEnd() const { return offset_ == file_.size(); }

 private:
  const MappedFile& file_;
  int64_t offset_ = 0;
};

Golden ReadGolden(const std::string& path) {
  const auto file = MappedFile::Open(path);
  SHOAL_CHECK(file.ok());
  Reader reader(**file);
  SHOAL_CHECK(reader.Next<uint64_t>() == 0x3130444C4F474853);  // "SHGOLD01"
  Golden golden;
  golden.vocabulary = reader.Next<int32_t>();
  golden.columns = reader.Next<int32_t>();
  golden.prompts.resize(static_cast<size_t>(reader.Next<int32_t>()));
  for (GoldenPrompt& prompt : golden.prompts) {
    prompt.tokens.resize(static_cast<size_t>(reader.Next<int32_t>()));
    for (int32_t& token : prompt.tokens) token = reader.Next<int32_t>();
    prompt.positions.resize(prompt.tokens.size());
    for (GoldenPosition& position : prompt.positions) {
      position.largest = reader.Next<float>();
      position.log_sum_exp = reader.Next<float>();
      for (int64_t i = 0; i < golden.columns; ++i) position.logits.push_back(reader.Next<float>());
    }
    prompt.continuation.resize(static_cast<size_t>(reader.Next<int32_t>()));
    for (int32_t& token : prompt.continuation) {
      token = reader.Next<int32_t>();
      SHOAL_CHECK(reader.Next<float>() > 0.1F);  // a clear choice, or equality would mean nothing
    }
  }
  SHOAL_CHECK(reader.AtEnd());
  return golden;
}

double LogSumExp(const Row& row) {
  const double top = row[static_cast<size_t>(ArgMax(row))];
  double sum = 0;
  for (const float logit : row) sum += std::exp(static_cast<double>(logit) - top);
  return top + std::log(sum);
}

// The worst deviation relative to the position's largest logit.
double Deviation(const Golden& golden, size_t position, const GoldenPosition& wanted,
                 const Row& row) {
  double worst = std::abs(LogSumExp(row) - static_cast<double>(wanted.log_sum_exp));
  const int64_t stride = golden.vocabulary / golden.columns;
  for (int64_t j = 0; j < golden.columns; ++j) {
    const int64_t column = (static_cast<int64_t>(position) + j * stride) % golden.vocabulary;
    const double got = row[static_cast<size_t>(column)];
    const double difference =
        std::abs(got - static_cast<double>(wanted.logits[static_cast<size_t>(j)]));
    // A NaN compares as not greater, and must not pass for it.
    if (std::isnan(difference)) return std::numeric_limits<double>::infinity();
    worst = std::max(worst, difference);
  }
  return worst / static_cast<double>(wanted.largest);
}

struct Variant {
  std::string name;
  std::string file;  // below the variant's directory; empty: the directory itself
  std::string backend = "cpu";
  std::string golden = "golden.bin";
  bool long_rope = false;
};

std::string TestName(const ::testing::TestParamInfo<Variant>& info) {
  std::string name = absl::StrCat(info.param.name, "_", info.param.backend);
  if (info.param.golden != "golden.bin") name += "_" + info.param.golden;
  for (char& c : name) {
    if (c == '-' || c == '.') c = '_';
  }
  return name;
}

class Goldens : public ::testing::TestWithParam<Variant> {
 protected:
  std::string Directory() const {
    return absl::StrCat(SHOAL_SOURCE_DIR, "/tests/golden/models/", GetParam().name);
  }
  std::string ModelPath() const {
    return GetParam().file.empty() ? Directory() : absl::StrCat(Directory(), "/", GetParam().file);
  }
};

TEST_P(Goldens, MatchTransformersAtEveryPositionAndContinueEqually) {
  const Golden golden = ReadGolden(Directory() + "/" + GetParam().golden);
  ASSERT_FALSE(golden.prompts.empty());
  // The reference backend is slow and judged elsewhere too: its short prompts suffice.
  const size_t length_max = GetParam().backend == "reference" ? 65 : kRowsMax;
  for (const GoldenPrompt& prompt : golden.prompts) {
    if (prompt.tokens.size() > length_max) continue;
    SCOPED_TRACE(absl::StrCat("prompt of ", prompt.tokens.size(), " tokens"));
    RunnerOptions options = Float32Options(kRowsMax);
    options.backend = GetParam().backend;
    options.decoder.numerics.long_rope = GetParam().long_rope;
    Runner runner(ModelPath(), options);
    const std::vector<Row> rows = runner.Prefill(0, prompt.tokens, kRowsMax);
    ASSERT_EQ(rows.size(), prompt.tokens.size());
    double worst = 0;
    size_t where = 0;
    for (size_t i = 0; i < rows.size(); ++i) {
      const double deviation = Deviation(golden, i, prompt.positions[i], rows[i]);
      if (deviation <= worst) continue;
      worst = deviation;
      where = i;
    }
    EXPECT_LE(worst, kTolerance) << "at position " << where;
    std::vector<int32_t> continuation{ArgMax(rows.back())};
    while (continuation.size() < prompt.continuation.size()) {
      const std::vector<Row> next =
          runner.Step({{.sequence = 0, .tokens = {continuation.back()}, .all_logits = false}});
      continuation.push_back(ArgMax(next[0]));
    }
    EXPECT_EQ(continuation, prompt.continuation);
  }
}

INSTANTIATE_TEST_SUITE_P(
    All, Goldens,
    ::testing::ValuesIn(std::vector<Variant>{
        {.name = "mha", .file = ""},
        {.name = "gqa-bias", .file = ""},
        {.name = "mqa-llama3-tied", .file = ""},
        {.name = "gqa-linear-f16", .file = ""},
        {.name = "tiny-q8_0", .file = "tiny-q8_0.gguf"},
        {.name = "tiny-q4_0", .file = "tiny-q4_0.gguf"},
        {.name = "tiny-q4_1", .file = "tiny-q4_1.gguf"},
        {.name = "tiny-q5_0", .file = "tiny-q5_0.gguf"},
        {.name = "tiny-q5_1", .file = "tiny-q5_1.gguf"},
        {.name = "tiny-q4_k", .file = "tiny-q4_k.gguf"},
        {.name = "tiny-q5_k", .file = "tiny-q5_k.gguf"},
        {.name = "tiny-q6_k", .file = "tiny-q6_k.gguf"},
        {.name = "mistral-window", .file = ""},
        {.name = "qwen2-window", .file = ""},
        {.name = "qwen3-yarn", .file = ""},
        {.name = "phi3-longrope", .file = "", .long_rope = true},
        {.name = "phi3-longrope", .file = "", .golden = "golden-short.bin"},
        {.name = "gemma3-window", .file = ""},
        {.name = "bloom-alibi", .file = ""},
        {.name = "gguf-mistral-f32", .file = "gguf-mistral-f32.gguf"},
        {.name = "gguf-qwen2-bf16", .file = "gguf-qwen2-bf16.gguf"},
        {.name = "gguf-qwen3-f16", .file = "gguf-qwen3-f16.gguf"},
        {.name = "gguf-phi3-q8_0", .file = "gguf-phi3-q8_0.gguf", .long_rope = true},
        {.name = "gguf-gemma3-q4_0", .file = "gguf-gemma3-q4_0.gguf"},
        {.name = "gguf-bloom-f16", .file = "gguf-bloom-f16.gguf"},
        {.name = "gqa-bias", .file = "", .backend = "reference"},
        {.name = "gemma3-window", .file = "", .backend = "reference"},
        {.name = "bloom-alibi", .file = "", .backend = "reference"},
        {.name = "tiny-q4_1", .file = "tiny-q4_1.gguf", .backend = "reference"},
    }),
    TestName);

}  // namespace
}  // namespace shoal::model::testing
