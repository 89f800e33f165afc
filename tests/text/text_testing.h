// SPDX-License-Identifier: Apache-2.0
// Helpers of the text tests: the committed golden files, and temporary model directories.
#pragma once

#include <time.h>
#include <unistd.h>

#include <filesystem>
#include <fstream>
#include <map>
#include <sstream>
#include <string>
#include <vector>

#include "gtest/gtest.h"
#include "nlohmann/json.hpp"
#include "text/tokenizer.h"

namespace shoal::text {

inline std::string GoldenPath(const std::string& name) {
  return (std::filesystem::path(SHOAL_SOURCE_DIR) / "tests/golden/text" / name).string();
}

// CPU time of this thread: what is measured does not depend on what else the machine does.
inline double ThreadSeconds() {
  timespec time{};
  clock_gettime(CLOCK_THREAD_CPUTIME_ID, &time);
  return static_cast<double>(time.tv_sec) + 1e-9 * static_cast<double>(time.tv_nsec);
}

inline std::string ReadGolden(const std::string& name) {
  std::ifstream file(GoldenPath(name), std::ios::binary);
  EXPECT_TRUE(file.good()) << name;
  std::stringstream text;
  text << file.rdbuf();
  return text.str();
}

inline nlohmann::ordered_json ReadGoldenJson(const std::string& name) {
  return nlohmann::ordered_json::parse(ReadGolden(name));
}

inline TextModel LoadGolden(const std::string& name) {
  auto model = LoadTextModel(GoldenPath(name));
  EXPECT_TRUE(model.ok()) << model.status();
  return *model;
}

// The texts that every golden file has ids for, in this order.
inline std::vector<std::string> HardTexts() {
  return ReadGoldenJson("hard.json")["texts"].get<std::vector<std::string>>();
}

// A directory of files, gone with the object.
class TemporaryModel {
 public:
  explicit TemporaryModel(const std::map<std::string, std::string>& files) {
    std::string pattern = (std::filesystem::temp_directory_path() / "shoal_text_XXXXXX").string();
    path_ = mkdtemp(pattern.data());
    for (const auto& [name, content] : files) Write(name, content);
  }
  ~TemporaryModel() { std::filesystem::remove_all(path_); }
  TemporaryModel(const TemporaryModel&) = delete;
  TemporaryModel& operator=(const TemporaryModel&) = delete;

  void Write(const std::string& name, const std::string& content) const {
    const std::filesystem::path file = path_ + "/" + name;
    std::filesystem::create_directories(file.parent_path());
    std::ofstream(file, std::ios::binary) << content;
  }
  const std::string& path() const { return path_; }

 private:
  std::string path_;
};

}  // namespace shoal::text
