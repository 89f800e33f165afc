// SPDX-License-Identifier: Apache-2.0
#include "app/secret_files.h"

#include <stdlib.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <fstream>

#include "gmock/gmock.h"
#include "gtest/gtest.h"

namespace shoal::app {
namespace {

using ::testing::AllOf;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;

class SecretFiles : public ::testing::Test {
 protected:
  void SetUp() override {
    std::string name = ::testing::TempDir() + "shoal-secrets-XXXXXX";
    ASSERT_NE(mkdtemp(name.data()), nullptr);
    folder_ = name;
    path_ = folder_ + "/secret";
  }
  void TearDown() override {
    unlink(path_.c_str());
    rmdir(folder_.c_str());
  }

  void Write(const std::string& text, mode_t mode = 0600) {
    std::ofstream(path_) << text;
    ASSERT_EQ(chmod(path_.c_str(), mode), 0);
  }
  config::ClusterConfig WithKeys() const {
    config::ClusterConfig config;
    config.router.api_keys_file = path_;
    return config;
  }
  config::ClusterConfig WithToken() const {
    config::ClusterConfig config;
    config.cluster_token_file = path_;
    return config;
  }
  void ExpectBoth(absl::StatusCode code, const std::string& what) {
    for (const auto& [config, key] : {std::pair(WithKeys(), "router.api_keys_file"),
                                      std::pair(WithToken(), "cluster_token_file")}) {
      const auto checked = CheckSecretFiles(config);
      EXPECT_EQ(checked.status().code(), code) << checked.status();
      EXPECT_THAT(std::string(checked.status().message()),
                  AllOf(HasSubstr(key), HasSubstr(path_), HasSubstr(what)));
    }
  }

  std::string folder_, path_;
};

TEST_F(SecretFiles, AreNotNeeded) {
  const auto checked = CheckSecretFiles({});
  ASSERT_TRUE(checked.ok()) << checked.status();
  EXPECT_THAT(*checked, IsEmpty());
}

TEST_F(SecretFiles, ThatHoldASecretOnlyTheirOwnerReadsPassQuietly) {
  Write("s3cret\n");
  for (const auto& config : {WithKeys(), WithToken()}) {
    const auto checked = CheckSecretFiles(config);
    ASSERT_TRUE(checked.ok()) << checked.status();
    EXPECT_THAT(*checked, IsEmpty());
  }
  EXPECT_EQ(*ReadClusterTokenFile(WithToken()), "s3cret");
}

TEST_F(SecretFiles, ThatAreMissingAreNamed) {
  ExpectBoth(absl::StatusCode::kNotFound, "No such file");
}

TEST_F(SecretFiles, ThatAreFoldersOrPipesAreRefusedWithoutBlocking) {
  ASSERT_EQ(mkfifo(path_.c_str(), 0600), 0);
  ExpectBoth(absl::StatusCode::kInvalidArgument, "is not a regular file");
}

TEST_F(SecretFiles, WithoutASecretAreAnErrorAndNeverMeanOpen) {
  Write("");
  ExpectBoth(absl::StatusCode::kInvalidArgument, "");
  Write("  \n\n");
  ExpectBoth(absl::StatusCode::kInvalidArgument, "");
  Write("# only a comment\n");
  EXPECT_FALSE(CheckSecretFiles(WithKeys()).ok());
}

TEST_F(SecretFiles, ThatCannotBeReadAreAnError) {
  Write("s3cret\n", 0000);
  if (access(path_.c_str(), R_OK) == 0) GTEST_SKIP() << "this user may read everything";
  EXPECT_FALSE(CheckSecretFiles(WithKeys()).ok());
  EXPECT_FALSE(CheckSecretFiles(WithToken()).ok());
}

TEST_F(SecretFiles, ThatEverybodyMayReadOrChangeGiveAWarning) {
  Write("s3cret\n", 0644);
  EXPECT_THAT(*CheckSecretFiles(WithKeys()),
              ElementsAre(AllOf(HasSubstr("router.api_keys_file: every user may read " + path_),
                                HasSubstr("0644"), HasSubstr("chmod 600"))));
  Write("s3cret\n", 0666);
  EXPECT_THAT(*CheckSecretFiles(WithToken()),
              ElementsAre(HasSubstr("cluster_token_file: every user may change " + path_)));
  Write("s3cret\n", 0640);
  EXPECT_THAT(*CheckSecretFiles(WithToken()), IsEmpty());
}

}  // namespace
}  // namespace shoal::app
