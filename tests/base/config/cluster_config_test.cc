// SPDX-License-Identifier: Apache-2.0
#include "base/config/cluster_config.h"

#include <filesystem>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_replace.h"
#include "base/temp_dir.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"

namespace shoal::config {
namespace {

using shoal::testing::TempDir;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::Not;

const char* const kBase = R"(schema: 1
cluster: test
models:
  - name: tiny
    path: tiny.gguf
router:
  http: 127.0.0.1:8000
  grpc: 127.0.0.1:8001
replicas:
  - name: chat
    model: tiny
    count: 2
engine:
  max_batch_tokens: 64
  kv: { memory: 1MiB }
ports: { base: 9000 }
)";

class ClusterConfigTest : public ::testing::Test {
 protected:
  absl::StatusOr<ClusterConfig> Read(const std::string& text,
                                     const std::vector<std::string>& overrides = {}) {
    return ReadClusterConfig(dir_.Write("c.yaml", text), overrides);
  }
  // kBase with one place replaced.
  absl::StatusOr<ClusterConfig> ReadWith(const std::string& from, const std::string& to) {
    const std::string text = absl::StrReplaceAll(kBase, {{from, to}});
    EXPECT_NE(text, kBase) << from;
    return Read(text);
  }

  TempDir dir_;
};

TEST_F(ClusterConfigTest, ReadsValuesAndFillsInDefaults) {
  const auto config = Read(kBase);
  ASSERT_TRUE(config.ok()) << config.status();
  EXPECT_EQ(config->cluster, "test");
  EXPECT_EQ(config->source_path, dir_.path() + "/c.yaml");
  EXPECT_EQ(config->models[0].path, dir_.path() + "/tiny.gguf");
  EXPECT_EQ(config->router.http.ToString(), "127.0.0.1:8000");
  EXPECT_EQ(config->router.policy, "least-work");
  ASSERT_EQ(config->replicas.size(), 1U);
  const ReplicaConfig& replica = config->replicas[0];
  EXPECT_EQ(replica.count, 2);
  EXPECT_EQ(replica.role, "unified");
  EXPECT_THAT(replica.hosts, ElementsAre("localhost"));
  EXPECT_EQ(replica.engine.max_batch_tokens, 64);
  EXPECT_EQ(replica.engine.kv.memory_bytes, 1 << 20);
  EXPECT_EQ(replica.engine.kv.block_tokens, 16);
  EXPECT_EQ(replica.numerics.mode, "exact");
  EXPECT_EQ(replica.numerics.shards, 0);
  EXPECT_EQ(config->deadlines.step, absl::Seconds(60));
  EXPECT_EQ(config->FindModel("tiny"), &config->models[0]);
  EXPECT_EQ(config->FindModel("other"), nullptr);
}

TEST_F(ClusterConfigTest, AHangIsNeverShorterThanAStepMayBe) {
  const auto config = Read(kBase, {"deadlines.step=4s", "deadlines.hang=4s"});
  ASSERT_TRUE(config.ok()) << config.status();
  EXPECT_EQ(config->deadlines.hang, absl::Seconds(4));
  const auto short_hang = Read(kBase, {"deadlines.step=5s", "deadlines.hang=4s"});
  EXPECT_THAT(std::string(short_hang.status().message()),
              HasSubstr("deadlines.hang: 4s is shorter than 5s of deadlines.step"));
  const auto below_a_self_check = Read(kBase, {"deadlines.step=1s", "deadlines.hang=1s"});
  EXPECT_THAT(std::string(below_a_self_check.status().message()), HasSubstr("deadlines.hang"));
}

TEST_F(ClusterConfigTest, ReadsEveryKindOfValue) {
  const auto config = Read(absl::StrCat(kBase, R"(
numerics: { shards: 8, activation: float32 }
deadlines: { step: 500ms, request: 1h30m }
drain_seconds: 5
failover: exact
cluster_token_file: ../token
hosts:
  localhost: { interface: 127.0.0.2, log: logs }
)"),
                           {"engine.prefix_cache=false", "engine.max_context=auto",
                            "router.cors_origins=['*', 'https://chat.example']"});
  ASSERT_TRUE(config.ok()) << config.status();
  EXPECT_EQ(config->replicas[0].numerics.shards, 8);
  EXPECT_EQ(config->replicas[0].numerics.activation, "float32");
  EXPECT_EQ(config->deadlines.step, absl::Milliseconds(500));
  EXPECT_EQ(config->deadlines.request, absl::Minutes(90));
  EXPECT_EQ(config->drain_seconds, 5);
  EXPECT_EQ(config->failover, "exact");
  EXPECT_EQ(config->cluster_token_file,
            (std::filesystem::path(dir_.path()).parent_path() / "token").string());
  EXPECT_EQ(config->hosts.at("localhost").log, dir_.path() + "/logs");
  EXPECT_FALSE(config->replicas[0].engine.prefix_cache);
  EXPECT_EQ(config->replicas[0].engine.max_context, 0);
  EXPECT_THAT(config->router.cors_origins, ElementsAre("*", "https://chat.example"));
  EXPECT_EQ(config->WorkerEndpoint(0, 0).ToString(), "127.0.0.2:9000");
}

TEST_F(ClusterConfigTest, ReplicasOverrideTheClusterWideEngineKeyByKey) {
  const auto config = Read(
      absl::StrReplaceAll(kBase, {{"    count: 2\n",
                                   "    engine: { max_sequences: 3, kv: { block_tokens: 8 } }\n"
                                   "    numerics: { activation: int8 }\n"
                                   "  - { name: other, model: tiny, count: 3 }\n"}}));
  ASSERT_TRUE(config.ok()) << config.status();
  const EngineConfig& engine = config->replicas[0].engine;
  EXPECT_EQ(engine.max_sequences, 3);
  EXPECT_EQ(engine.max_batch_tokens, 64);
  EXPECT_EQ(engine.kv.block_tokens, 8);
  EXPECT_EQ(engine.kv.memory_bytes, 1 << 20);
  EXPECT_EQ(config->replicas[0].numerics.activation, "int8");
  EXPECT_EQ(config->replicas[1].engine.max_sequences, 64);
  EXPECT_EQ(config->replicas[1].numerics.activation, "auto");
}

TEST_F(ClusterConfigTest, NumbersWorkerPortsOverAllReplicas) {
  auto config = Read(absl::StrReplaceAll(
      kBase, {{"    count: 2\n", "    count: 2\n  - { name: other, model: tiny, count: 3 }\n"}}));
  ASSERT_TRUE(config.ok()) << config.status();
  EXPECT_EQ(config->WorkerEndpoint(0, 1).ToString(), "127.0.0.1:9001");
  EXPECT_EQ(config->WorkerEndpoint(1, 0).ToString(), "127.0.0.1:9002");
  EXPECT_EQ(config->WorkerEndpoint(1, 2).ToString(), "127.0.0.1:9004");
  config->base_port = 0;
  EXPECT_EQ(config->WorkerEndpoint(1, 2).port, 0);
}

TEST_F(ClusterConfigTest, OverridesByIndexNameAndNewKeys) {
  const auto config =
      Read(kBase, {"replicas.chat.count=1", "replicas.0.threads_per_rank=3",
                   "replicas.chat.engine.kv.block_tokens=32", "models.tiny.name=qwen2.5-1b",
                   "replicas.0.model=qwen2.5-1b", "models.qwen2.5-1b.path=/models/q=1.gguf",
                   "drain_seconds=7", "router={policy: round-robin}"});
  ASSERT_TRUE(config.ok()) << config.status();
  EXPECT_EQ(config->replicas[0].count, 1);
  EXPECT_EQ(config->replicas[0].threads_per_rank, 3);
  EXPECT_EQ(config->replicas[0].engine.kv.block_tokens, 32);
  EXPECT_EQ(config->models[0].path, "/models/q=1.gguf");
  EXPECT_EQ(config->drain_seconds, 7);
  EXPECT_EQ(config->router.policy, "round-robin");
}

TEST_F(ClusterConfigTest, RefusesOverridesThatHaveNoPlace) {
  const auto expect = [&](const std::string& override_text, const std::string& what) {
    const auto config = Read(kBase, {override_text});
    ASSERT_FALSE(config.ok()) << override_text;
    EXPECT_EQ(config.status().code(), absl::StatusCode::kInvalidArgument);
    EXPECT_THAT(std::string(config.status().message()), HasSubstr(what));
  };
  expect("drain_seconds", "must be key.path=value");
  expect("=1", "not a key path");
  expect("a..b=1", "not a key path");
  expect("replicas.web.count=1", "no element \"web\": it has 1 (chat)");
  expect("replicas.1.count=1", "no element \"1\"");
  expect("cluster.name=x", "has no place");
  expect("replicas.chat.count=[", "not YAML");
  expect("replicas.chat.count=0", "c.yaml with --set: replicas.0.count: 0 is outside 1 to 1024");
  expect("drain_second=1", "did you mean \"drain_seconds\"?");
  expect("router.http=", "has no value");
}

struct ErrorCase {
  const char* from;
  const char* to;
  const char* expected;  // "line: key: what", or a part of it
};

// The whole message is "FILE:" and `expected`, so that one mistake gives one error.
class ClusterConfigErrors : public ClusterConfigTest,
                            public ::testing::WithParamInterface<ErrorCase> {};

TEST_P(ClusterConfigErrors, NameTheLineTheKeyTheValueAndTheRule) {
  const auto config = ReadWith(GetParam().from, GetParam().to);
  ASSERT_FALSE(config.ok());
  EXPECT_EQ(config.status().code(), absl::StatusCode::kInvalidArgument);
  const std::string message(config.status().message());
  EXPECT_THAT(message, HasSubstr(absl::StrCat("c.yaml:", GetParam().expected)));
  EXPECT_THAT(message, Not(HasSubstr("\n")));
}

constexpr ErrorCase kSchemaCases[] = {
    {"schema: 1\n", "", "1: schema: is required"},
    {"schema: 1", "schema: 2", "1: schema: 2 is outside 1 to 1"},
    {"schema: 1", "schema: \"1\"", "1: schema: \"1\" is text in quotes"},
    {"cluster: test\n", "", "1: cluster: is required"},
    {"cluster: test", "cluster: ../x", "2: cluster: \"../x\" must be 1 to 63 letters"},
    {"cluster: test", "cluster: 'a\\b'", "2: cluster: \"a\\\\b\" must be"},
    {"cluster: test", "cluster: ''", "2: cluster: \"\" is empty"},
    {"cluster: test", "cluster: 12", "2: cluster: \"12\" is a number or a truth value"},
    {"cluster: test", "cluster: yes", "2: cluster: \"yes\" is a number or a truth value"},
    {"cluster: test", "cluster: [a]", "2: cluster: is a list, must be text"},
    {"cluster: test", "cluster: test\ncolour: red", "3: unknown key \"colour\" at the top: one of"},
    {"cluster: test", "cluster: test\nfailover: maybe", "3: failover: \"maybe\" must be one of"},
    {"ports: { base: 9000 }\n", "failover: \"exact\n", "16: failover: \"exact \" begins or ends"},
    {"cluster: test", "cluster: \"a\\nb\"", "2: cluster: \"a\\nb\" has control characters"},
};

constexpr ErrorCase kValueCases[] = {
    {"count: 2", "count: two", "12: replicas.0.count: \"two\" is not a whole number from 1"},
    {"count: 2", "count: 2.0", "12: replicas.0.count: \"2.0\" is not a whole number"},
    {"count: 2", "count: -1", "12: replicas.0.count: -1 is outside 1 to 1024"},
    {"count: 2", "count: 99999999999999999999", "12: replicas.0.count: \"99999"},
    {"count: 2", "count: 4294967297", "12: replicas.0.count: 4294967297 is outside"},
    {"count: 2", "count: {}", "12: replicas.0.count: is a map, must be text"},
    {"count: 2", "count:", "12: replicas.0.count: has no value"},
    {"count: 2", "cuont: 2", "12: unknown key \"cuont\" in replicas.0: did you mean \"count\"?"},
    {"count: 2", "modle: x", "12: unknown key \"modle\" in replicas.0: did you mean \"model\"?"},
    {"1MiB", "1MB", "15: engine.kv.memory: \"1MB\" is not a size such as 512MiB, from 1KiB"},
    {"1MiB", "9TiB, dtype: int4", "15: engine.kv.dtype: \"int4\" must be one of auto, float32"},
    {"1MiB", "1MiB, dtype: flaot32",
     "15: engine.kv.dtype: \"flaot32\" must be one of auto, "
     "float32, float16: did you mean \"float32\"?"},
    {"64\n", "64\n  prefix_cache: yes\n", "15: engine.prefix_cache: \"yes\" must be true or false"},
    {"64\n", "64\n  priority_step: 5\n", "15: engine.priority_step: \"5\" is not a duration such"},
    {"64\n", "64\n  priority_step: 99h\n", "15: engine.priority_step: \"99h\" is not a duration"},
    {"64\n", "64\n  plans_in_flight: 9\n", "15: engine.plans_in_flight: 9 is outside 1 to 8"},
    {"127.0.0.1:8000", "8000", "7: router.http: \"8000\" is not an address and port"},
    {"127.0.0.1:8000", "h:70000", "7: router.http: \"h:70000\" is not an address and port"},
    {"  grpc", "  cors_origins: [chat.example]\n  grpc",
     "8: router.cors_origins.0: \"chat.example\" is not \"*\" or an origin"},
    {"  grpc", "  cors_origins: [https://a/b]\n  grpc", "8: router.cors_origins.0"},
    {"  grpc", "  cors_origins: '*'\n  grpc", "8: router.cors_origins: is text, must be a list"},
    {"  grpc", "  api_keys_file: ''\n  grpc", "8: router.api_keys_file: \"\" is empty"},
    {"ports: { base: 9000 }", "ports: 9000", "16: ports: is text, must be a map"},
};

constexpr ErrorCase kLayoutCases[] = {
    {"    model: tiny", "    model: tyny",
     "11: replicas.0.model: \"tyny\" is not in models: did you mean \"tiny\"?"},
    {"    model: tiny", "    model: another", "11: replicas.0.model: \"another\" is not in models"},
    {"    model: tiny\n", "", "10: replicas.0.model: is required"},
    {"    path: tiny.gguf", "    path: a\n  - { name: idle, path: b }",
     "6: models.1.name: \"idle\" is served by no replica: add one or remove it"},
    {"    count: 2", "  - { name: chat, model: tiny }",
     "12: replicas.1.name: \"chat\" is the name of replicas.0 already"},
    {"    path: tiny.gguf", "    path: a\n  - { name: tiny, path: b }",
     "6: models.1.name: \"tiny\" is the name of models.0 already"},
    {"  - name: tiny\n    path: tiny.gguf", "  [tiny]", "4: models.0: is text, must be a map"},
    {"name: tiny", "name: ../../etc/passwd", "4: models.0.name: \"../../etc/passwd\" must be"},
    {"8001", "8000", "8: router.grpc: port 8000 is router.http's already"},
    {"8001", "9001",
     "16: ports.base: the workers' ports 9000 to 9001 (one for each of 2 ranks) "
     "include port 9001 of router.grpc"},
    {"base: 9000", "base: 65535", "16: ports.base: 65535 and 2 ranks end at port 65536"},
    {"    count: 2", "    hosts: []", "12: replicas.0.hosts: is an empty list"},
    {"    count: 2", "    hosts: [0.0.0.0]", "12: replicas.0.hosts.0: \"0.0.0.0\" means every"},
    {"    count: 2", "    hosts: ['a b']", "12: replicas.0.hosts.0: \"a b\" is not a host name"},
    {"ports:", "hosts: { localhst: {} }\nports:",
     "16: hosts.localhst: no replica runs on \"localhst\": did you mean \"localhost\"?"},
    {"ports:", "hosts: { localhost: { interface: '::' } }\nports:",
     "16: hosts.localhost.interface: \"::\" means every interface"},
};

constexpr ErrorCase kLaterCases[] = {
    {"count: 2", "role: prefill", "12: replicas.0.role: \"prefill\" is not available yet"},
    {"count: 2", "role: decode", "12: replicas.0.role: \"decode\" is not available yet"},
    {"count: 2", "device: cuda", "12: replicas.0.device: \"cuda\" is not available yet"},
    {"count: 2", "parallel: { tensor: 2 }", "12: replicas.0.parallel.tensor: 2 is not available"},
    {"count: 2", "parallel: { pipeline: 2 }", "12: replicas.0.parallel.pipeline: 2 is not avail"},
    {"count: 2", "parallel: { data: 2 }", "12: replicas.0.parallel.data: 2 is not available yet"},
    {"count: 2", "numerics: { mode: fast }", "12: replicas.0.numerics.mode: \"fast\" is not avail"},
    {"count: 2", "ranks_per_host: 2", "12: replicas.0.ranks_per_host: 2 is not available yet"},
    {"count: 2", "hosts: [a, b]", "12: replicas.0.hosts: 2 hosts are not available yet"},
    {"count: 2", "hosts: [gpu1]", "12: replicas.0.hosts: \"gpu1\" is not available yet"},
    {"  grpc", "  policy: power-of-two\n  grpc", "8: router.policy: \"power-of-two\" is not avail"},
    {"ports:", "hosts: { localhost: { threads: 2 } }\nports:",
     "16: hosts.localhost.threads: is not available yet"},
};

INSTANTIATE_TEST_SUITE_P(Schema, ClusterConfigErrors, ::testing::ValuesIn(kSchemaCases));
INSTANTIATE_TEST_SUITE_P(Values, ClusterConfigErrors, ::testing::ValuesIn(kValueCases));
INSTANTIATE_TEST_SUITE_P(Layout, ClusterConfigErrors, ::testing::ValuesIn(kLayoutCases));
INSTANTIATE_TEST_SUITE_P(Later, ClusterConfigErrors, ::testing::ValuesIn(kLaterCases));

TEST_F(ClusterConfigTest, ReportsAllMistakesInTheOrderOfTheFile) {
  const auto config = Read(absl::StrReplaceAll(
      kBase, {{"count: 2", "count: 0"}, {"127.0.0.1:8000", "x"}, {"64", "none"}}));
  ASSERT_FALSE(config.ok());
  const std::string message(config.status().message());
  const size_t http = message.find("c.yaml:7: router.http");
  const size_t count = message.find("\n" + dir_.path() + "/c.yaml:12: replicas.0.count");
  const size_t tokens = message.find("c.yaml:14: engine.max_batch_tokens");
  EXPECT_LT(http, count);
  EXPECT_LT(count, tokens);
  EXPECT_NE(tokens, std::string::npos);
}

TEST_F(ClusterConfigTest, BoundsTheErrorsItReports) {
  std::string text = kBase;
  for (int i = 0; i < 900; ++i) absl::StrAppend(&text, "unknown", i, ": 1\n");
  const auto config = Read(text);
  ASSERT_FALSE(config.ok());
  EXPECT_THAT(std::string(config.status().message()), HasSubstr("and 880 more"));
}

TEST_F(ClusterConfigTest, RefusesMoreRanksThanAnyClusterHas) {
  std::string text = absl::StrReplaceAll(kBase, {{"count: 2", "count: 1024"}});
  std::string more;
  for (int i = 0; i < 4; ++i) {
    absl::StrAppend(&more, "  - { name: r", i, ", model: tiny, count: 1024 }\n");
  }
  text = absl::StrReplaceAll(text, {{"engine:", more + "engine:"}});
  const auto config = Read(text);
  ASSERT_FALSE(config.ok());
  EXPECT_THAT(std::string(config.status().message()), HasSubstr("c.yaml:9: replicas: 5120 ranks"));
}

TEST_F(ClusterConfigTest, RefusesFilesThatAreNoMap) {
  EXPECT_THAT(std::string(Read("").status().message()), HasSubstr("the file is nothing"));
  EXPECT_THAT(std::string(Read("- a\n").status().message()), HasSubstr("the file is a list"));
  EXPECT_THAT(std::string(Read("a: [\n").status().message()), HasSubstr("c.yaml"));
  EXPECT_EQ(ReadClusterConfig(dir_.path() + "/none.yaml", {}).status().code(),
            absl::StatusCode::kNotFound);
}

TEST_F(ClusterConfigTest, SurvivesAFileCutAtAnyByte) {
  const std::string whole = kBase;
  int refused = 0;
  for (size_t size = 0; size < whole.size(); ++size) refused += !Read(whole.substr(0, size)).ok();
  EXPECT_GT(refused, 150);
}

TEST(ShippedConfigs, AreValid) {
  const std::filesystem::path folder = std::filesystem::path(SHOAL_SOURCE_DIR) / "cluster-configs";
  int files = 0;
  for (const auto& entry : std::filesystem::directory_iterator(folder)) {
    if (entry.path().extension() != ".yaml") continue;
    const auto config = ReadClusterConfig(entry.path().string(), {});
    EXPECT_TRUE(config.ok()) << config.status();
    ++files;
  }
  EXPECT_GE(files, 2);
}

}  // namespace
}  // namespace shoal::config
