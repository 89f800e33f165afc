// SPDX-License-Identifier: Apache-2.0
#include "base/log.h"

#include "base/temp_dir.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"

namespace shoal::log {
namespace {

using ::testing::HasSubstr;
using ::testing::MatchesRegex;
using ::testing::Not;

// Logs into a file for one test, then to standard error again.
class LogTest : public ::testing::Test {
 protected:
  ~LogTest() override { Configure("", Level::kInfo, ""); }
  std::string Text() const { return shoal::testing::ReadFile(path_); }

  shoal::testing::TempDir dir_;
  const std::string path_ = dir_.path() + "/x.log";
};

TEST_F(LogTest, WritesTimeLevelComponentAndMessage) {
  Configure("worker chat/0 100%", Level::kInfo, path_);
  Warning("{} blocks of {}", 3, "four");
  EXPECT_THAT(Text(), MatchesRegex("[0-9]+-[0-9]+-[0-9]+T[0-9]+:[0-9]+:[0-9]+\\.[0-9][0-9][0-9]Z "
                                   "W worker chat/0 100%: 3 blocks of four\n"));
}

TEST_F(LogTest, DropsLevelsBelowTheConfiguredOne) {
  Configure("router", Level::kWarning, path_);
  Debug("quiet debug");
  Info("quiet info");
  Error("loud");
  EXPECT_THAT(Text(), HasSubstr("E router: loud"));
  EXPECT_THAT(Text(), Not(HasSubstr("quiet")));
}

TEST_F(LogTest, KeepsAMessageOnOneLineWhateverItCarries) {
  Configure("router", Level::kInfo, path_);
  Info("key {}", "a\nI router: forged\r\x1b[31m\t\x7f");
  EXPECT_THAT(Text(), HasSubstr("key a\\nI router: forged\\x0d\\x1b[31m\\t\\x7f\n"));
}

TEST_F(LogTest, GoesOnWithoutAFileThatCannotBeOpened) {
  ::testing::internal::CaptureStderr();
  Configure("router", Level::kInfo, dir_.path());
  Info("still here");
  const std::string text = ::testing::internal::GetCapturedStderr();
  EXPECT_THAT(text, HasSubstr("cannot be used"));
  EXPECT_THAT(text, HasSubstr("still here"));
}

}  // namespace
}  // namespace shoal::log
