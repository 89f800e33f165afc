// SPDX-License-Identifier: Apache-2.0
// The exactness matrix: the same requests give bit-identical answers at every point. The oracle is
// one request at a time on one thread with the portable kernels.
//   SHOAL_EXACTNESS=full     the whole product instead of each axis alone and a pairwise sample
//   SHOAL_TEST_MODEL=FILE    also a real model, at one point per axis
#include <gtest/gtest.h>
#include <stdlib.h>

#include <cstdio>
#include <map>
#include <set>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "exactness/cluster.h"
#include "kernels/backend.h"
#include "model/decoder.h"

namespace shoal::exactness {
namespace {

constexpr int kRequests = 32;
constexpr int kRealRequests = 8;
constexpr int kFormatRequests = 12;

std::vector<std::string> AvailableIsas() {
  std::vector<std::string> available;
  for (const char* isa : {"portable", "avx2", "avx512", "amx"}) {
    setenv("SHOAL_ISA", isa, 1);
    if (kernels::CreateBackend("cpu").ok()) available.push_back(isa);
  }
  unsetenv("SHOAL_ISA");
  return available;
}

// Each axis alone from the base point.
std::vector<Point> AxisPoints(const std::vector<std::string>& isas) {
  std::vector<Point> points = {Point{}};
  const auto add = [&points](auto change) {
    Point point;
    change(point);
    points.push_back(point);
  };
  add([](Point& p) { p.arrival = Arrival::kAlone; });
  add([](Point& p) { p.budget = 16; });
  add([](Point& p) { p.budget = 64; });
  add([](Point& p) { p.prefix_cache = false; });
  add([](Point& p) { p.threads = 2; });
  add([](Point& p) { p.plans_in_flight = 1; });
  add([](Point& p) { p.tight_pool = true; });
  add([](Point& p) { p.replicas = 2; });
  for (const std::string& isa : isas) {
    add([&isa](Point& p) { p.isa = isa; });
  }
  return points;
}

std::vector<Point> AllPoints(const std::vector<std::string>& isas) {
  std::vector<Point> points;
  for (const std::string& isa : isas) {
    for (const int threads : {1, 2}) {
      for (const int budget : {16, 64, 512}) {
        for (int bits = 0; bits < 32; ++bits) {
          points.push_back({.isa = isa,
                            .threads = threads,
                            .budget = budget,
                            .prefix_cache = (bits & 1) != 0,
                            .plans_in_flight = (bits & 2) != 0 ? 2 : 1,
                            .tight_pool = (bits & 4) != 0,
                            .replicas = (bits & 8) != 0 ? 2 : 1,
                            .arrival = (bits & 16) != 0 ? Arrival::kAlone : Arrival::kTogether});
        }
      }
    }
  }
  return points;
}

// Values of two axes of a point, as one key.
std::set<std::string> Pairs(const Point& p) {
  const std::vector<std::string> values = {absl::StrCat("i", p.isa),
                                           absl::StrCat("t", p.threads),
                                           absl::StrCat("b", p.budget),
                                           absl::StrCat("c", p.prefix_cache ? 1 : 0),
                                           absl::StrCat("d", p.plans_in_flight),
                                           absl::StrCat("p", p.tight_pool ? 1 : 0),
                                           absl::StrCat("r", p.replicas),
                                           absl::StrCat("a", p.arrival == Arrival::kAlone ? 1 : 0)};
  std::set<std::string> pairs;
  for (size_t i = 0; i < values.size(); ++i) {
    for (size_t j = i + 1; j < values.size(); ++j) {
      pairs.insert(absl::StrCat(values[i], values[j]));
    }
  }
  return pairs;
}

// A fixed sample in which every pair of values of two axes occurs: greedy over the product. The
// portable kernels are left to the oracle and their axis point (they are slow).
std::vector<Point> PairwisePoints(const std::vector<std::string>& isas) {
  std::vector<std::string> fast;
  for (const std::string& isa : isas) {
    if (isa != "portable") fast.push_back(isa);
  }
  const std::vector<Point> all = AllPoints(fast.empty() ? isas : fast);
  std::set<std::string> open;
  for (const Point& point : all) open.merge(Pairs(point));
  std::vector<Point> chosen;
  while (!open.empty()) {
    const Point* best = nullptr;
    size_t best_gain = 0;
    for (const Point& point : all) {
      size_t gain = 0;
      for (const std::string& pair : Pairs(point)) gain += open.count(pair);
      if (gain > best_gain) {
        best = &point;
        best_gain = gain;
      }
    }
    for (const std::string& pair : Pairs(*best)) open.erase(pair);
    chosen.push_back(*best);
  }
  return chosen;
}

// Whether a tight pool preempts depends on how the requests happen to arrive: some point must.
int points_with_preemption = 0;

struct Matrix {
  ClusterModel model;
  std::vector<v1::GenerateRequest> requests;
  std::vector<Answer> expected;
};

absl::StatusOr<std::vector<Answer>> RunPoint(const Matrix& matrix, const Point& point) {
  absl::StatusOr<std::unique_ptr<Cluster>> cluster = Cluster::Start(matrix.model, point);
  if (!cluster.ok()) return cluster.status();
  absl::StatusOr<std::vector<Answer>> answers = (*cluster)->Run(matrix.requests, point.arrival);
  if (!answers.ok()) return answers;
  const bool forced = point.tight_pool && point.arrival == Arrival::kTogether &&
                      point.replicas == 1 && matrix.requests.size() >= kRequests;
  if (forced && (*cluster)->SawPreemption()) ++points_with_preemption;
  if (const absl::Status status = (*cluster)->Stop(); !status.ok()) return status;
  return answers;
}

void CheckPoint(const Matrix& matrix, const Point& point) {
  const absl::StatusOr<std::vector<Answer>> answers = RunPoint(matrix, point);
  std::string verdict = "equal";
  if (!answers.ok()) {
    verdict = std::string(answers.status().message());
  } else {
    for (size_t i = 0; i < answers->size(); ++i) {
      const std::string difference = Difference(matrix.expected[i], (*answers)[i]);
      if (difference.empty()) continue;
      verdict = absl::StrCat("request ", i, ": ", difference);
      break;
    }
  }
  std::printf("| %-16s | %-86s | %s\n", matrix.model.name.c_str(), point.ToString().c_str(),
              verdict.c_str());
  std::fflush(stdout);
  EXPECT_EQ(verdict, "equal") << matrix.model.name << " at " << point.ToString();
}

void RunMatrix(ClusterModel model, int request_count, const std::string& oracle_isa,
               const std::vector<Point>& points) {
  const auto file = model::OpenModel(model.path);
  ASSERT_TRUE(file.ok()) << file.status();
  Matrix matrix;
  matrix.requests =
      MakeRequests(model.name, request_count, static_cast<int32_t>((*file)->spec().vocab_size),
                   model.length_max);
  matrix.model = std::move(model);
  const Point oracle = {
      .isa = oracle_isa, .prefix_cache = false, .plans_in_flight = 1, .arrival = Arrival::kAlone};
  absl::StatusOr<std::vector<Answer>> expected = RunPoint(matrix, oracle);
  ASSERT_TRUE(expected.ok()) << expected.status();
  matrix.expected = *std::move(expected);
  for (const Point& point : points) CheckPoint(matrix, point);
}

std::string Golden(const std::string& name) {
  return absl::StrCat(SHOAL_SOURCE_DIR, "/tests/golden/models/", name);
}

bool FullProduct() {
  const char* value = getenv("SHOAL_EXACTNESS");
  return value != nullptr && absl::string_view(value) == "full";
}

std::vector<Point> Points(const std::vector<std::string>& isas, bool pairwise) {
  if (FullProduct()) return AllPoints(isas);
  std::vector<Point> points = AxisPoints(isas);
  if (pairwise) {
    for (const Point& point : PairwisePoints(isas)) points.push_back(point);
  }
  return points;
}

TEST(Exactness, TinyQuantisedModelGivesTheSameBitsAtEveryPoint) {
  const std::vector<std::string> isas = AvailableIsas();
  RunMatrix({.name = "tiny-q4_1", .path = Golden("tiny-q4_1/tiny-q4_1.gguf"), .length_max = 1200},
            kRequests, "portable", Points(isas, true));
}

TEST(Exactness, TinyFloatModelGivesTheSameBitsAtEveryPoint) {
  const std::vector<std::string> isas = AvailableIsas();
  RunMatrix(
      {.name = "tiny-gqa", .path = Golden("gqa-bias"), .activation = "float32", .length_max = 1200},
      kRequests, "portable", Points(isas, false));
}

// Layers that slide and layers that do not, in two KV groups: blocks behind the window are given
// back, and a prefix is only found where both groups still have it.
TEST(Exactness, TinyModelWithWindowGroupsGivesTheSameBitsAtEveryPoint) {
  const std::vector<std::string> isas = AvailableIsas();
  RunMatrix({.name = "tiny-gemma3",
             .path = Golden("gemma3-window"),
             .activation = "float32",
             .length_max = 1200},
            kFormatRequests, "portable", Points(isas, false));
}

// Biases of distance, LayerNorm, an MLP without a gate; a window of all layers; norms of q and k;
// long factors.
TEST(Exactness, OtherFamiliesGiveTheSameBitsOnEveryInstructionSet) {
  std::vector<Point> points;
  for (const std::string& isa : AvailableIsas()) points.push_back({.isa = isa, .threads = 2});
  const std::pair<const char*, const char*> models[] = {
      {"bloom-alibi", "float32"},
      {"mistral-window", "float32"},
      {"qwen3-yarn", "float32"},
      {"phi3-longrope", "float32"},
  };
  for (const auto& [path, activation] : models) {
    RunMatrix({.name = path, .path = Golden(path), .activation = activation, .length_max = 600},
              kFormatRequests, "portable", points);
  }
}

TEST(Exactness, RealModelGivesTheSameBitsOnEveryAxis) {
  const char* path = getenv("SHOAL_TEST_MODEL");
  if (path == nullptr) GTEST_SKIP() << "SHOAL_TEST_MODEL names no model file";
  std::vector<std::string> isas = AvailableIsas();
  // The portable kernels would take minutes here; the tiny models cover them.
  if (!FullProduct()) std::erase(isas, "portable");
  RunMatrix({.name = "smollm2", .path = path, .length_max = 640}, kRealRequests,
            isas.empty() ? "portable" : isas.front(), Points(isas, false));
}

// Each weight format on each instruction set; fewer requests, as the rest does not depend on it.
TEST(Exactness, EveryWeightFormatGivesTheSameBitsOnEveryInstructionSet) {
  std::vector<Point> points;
  for (const std::string& isa : AvailableIsas()) points.push_back({.isa = isa, .threads = 2});
  const std::pair<const char*, const char*> models[] = {
      {"tiny-q4_0/tiny-q4_0.gguf", "auto"},    {"tiny-q8_0/tiny-q8_0.gguf", "auto"},
      {"tiny-q8_0/tiny-q8_0.gguf", "float32"}, {"gqa-linear-f16", "float32"},
      {"tiny-q5_0/tiny-q5_0.gguf", "auto"},    {"tiny-q5_1/tiny-q5_1.gguf", "auto"},
      {"tiny-q6_k/tiny-q6_k.gguf", "auto"},    {"tiny-q6_k/tiny-q6_k.gguf", "float32"},
  };
  for (const auto& [path, activation] : models) {
    RunMatrix({.name = absl::StrCat(absl::string_view(path).substr(0, 9), " ", activation),
               .path = Golden(path),
               .activation = activation,
               .length_max = 600},
              kFormatRequests, "portable", points);
  }
}

// Runs last: the tests above must have reached every variant of the kernels they are about.
TEST(ExactnessCounters, ATightPoolForcedPreemptions) { EXPECT_GT(points_with_preemption, 0); }

TEST(ExactnessCounters, EveryKernelVariantRan) {
  std::map<std::string, int64_t> calls;
  for (const kernels::VariantCount& count : kernels::VariantCounts()) {
    std::printf("%-40s %lld calls\n", count.name.c_str(), static_cast<long long>(count.calls));
    calls[count.name] = count.calls;
  }
  for (const std::string& isa : AvailableIsas()) {
    // AMX only has matmul kernels; everything else runs the AVX-512 ones.
    std::vector<std::string> ops = {"matmul q4_1 i8", "matmul q4_0 i8", "matmul q8_0 i8"};
    if (isa != "amx") {
      for (const char* op : {"attention", "kv_write", "rms_norm", "rope", "silu_mul", "gelu_mul",
                             "gelu", "layer_norm", "softcap", "add", "sample", "matmul f32 f32",
                             "matmul f16 f32", "matmul q8_0 f32"}) {
        ops.push_back(op);
      }
    }
    for (const std::string& op : ops) {
      EXPECT_GT(calls[absl::StrCat(op, " ", isa)], 0) << op << " never ran on " << isa;
    }
  }
}

}  // namespace
}  // namespace shoal::exactness
