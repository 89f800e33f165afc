// SPDX-License-Identifier: Apache-2.0
#include "base/mapped_file.h"

#include <sys/stat.h>

#include <cstring>
#include <filesystem>

#include "base/temp_dir.h"
#include "gtest/gtest.h"

namespace shoal {
namespace {

TEST(MappedFile, ShowsTheBytesOfTheFile) {
  testing::TempDir dir;
  const auto file = MappedFile::Open(dir.Write("f", "hello"));
  ASSERT_TRUE(file.ok()) << file.status();
  ASSERT_EQ((*file)->size(), 5);
  EXPECT_EQ(std::memcmp((*file)->data(), "hello", 5), 0);
}

TEST(MappedFile, OpensAnEmptyFile) {
  testing::TempDir dir;
  const auto file = MappedFile::Open(dir.Write("f", ""));
  ASSERT_TRUE(file.ok()) << file.status();
  EXPECT_EQ((*file)->size(), 0);
}

TEST(MappedFile, FollowsLinksToFiles) {
  testing::TempDir dir;
  const std::string target = dir.Write("blob", "x");
  std::filesystem::create_symlink(target, dir.path() + "/link");
  const auto file = MappedFile::Open(dir.path() + "/link");
  ASSERT_TRUE(file.ok()) << file.status();
  EXPECT_EQ((*file)->size(), 1);
}

TEST(MappedFile, RefusesWhatIsNoRegularFileWithoutWaiting) {
  testing::TempDir dir;
  const std::string fifo = dir.path() + "/fifo";
  ASSERT_EQ(mkfifo(fifo.c_str(), 0600), 0);
  std::filesystem::create_symlink(dir.path() + "/loop", dir.path() + "/loop");
  EXPECT_EQ(MappedFile::Open(fifo).status().code(), absl::StatusCode::kInvalidArgument);
  EXPECT_EQ(MappedFile::Open("/dev/zero").status().code(), absl::StatusCode::kInvalidArgument);
  EXPECT_EQ(MappedFile::Open(dir.path()).status().code(), absl::StatusCode::kInvalidArgument);
  EXPECT_EQ(MappedFile::Open(dir.path() + "/none").status().code(), absl::StatusCode::kNotFound);
  EXPECT_FALSE(MappedFile::Open(dir.path() + "/loop").ok());
  EXPECT_FALSE(MappedFile::Open(std::string("a\0b", 3)).ok());
}

}  // namespace
}  // namespace shoal
