// SPDX-License-Identifier: Apache-2.0
#include "base/safetensors/safetensors_file.h"

#include <filesystem>

#include "absl/strings/str_cat.h"
#include "base/temp_dir.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"

namespace shoal::safetensors {
namespace {

using shoal::testing::TempDir;
using ::testing::ElementsAre;
using ::testing::HasSubstr;

std::string FileBytes(const std::string& header, const std::string& data) {
  const uint64_t length = header.size();
  return std::string(reinterpret_cast<const char*>(&length), 8) + header + data;
}

// One 4-byte tensor per name.
std::string Shard(const std::vector<std::string>& names) {
  std::string header = "{";
  for (size_t i = 0; i < names.size(); ++i) {
    absl::StrAppend(&header, i == 0 ? "" : ",", "\"", names[i],
                    R"(":{"dtype":"F32","shape":[1],"data_offsets":[)", i * 4, ",", i * 4 + 4,
                    "]}");
  }
  return FileBytes(header + "}", std::string(names.size() * 4, 'd'));
}

const char* const kHeader = R"({"__metadata__":{"format":"pt"},)"
                            R"("b":{"dtype":"BF16","shape":[2,2],"data_offsets":[4,12]},)"
                            R"("a":{"shape":[1],"data_offsets":[0,4],"dtype":"F32"},)"
                            R"("none":{"dtype":"F32","shape":[0,7],"data_offsets":[12,12]}}  )";

class SafetensorsFileTest : public ::testing::Test {
 protected:
  void ExpectRefused(const std::string& path, const std::string& what) {
    const auto file = SafetensorsFile::Open(path);
    ASSERT_FALSE(file.ok()) << "accepted; expected: " << what;
    EXPECT_THAT(std::string(file.status().message()), HasSubstr(what));
  }
  void ExpectHeaderRefused(const std::string& header, const std::string& what) {
    ExpectRefused(dir_.Write("x.safetensors", FileBytes(header, std::string(16, 'd'))), what);
  }
  // A file of 16 bytes of data whose only tensor is written as `tensor`.
  void ExpectTensorRefused(const std::string& tensor, const std::string& what) {
    ExpectHeaderRefused(absl::StrCat("{\"t\":", tensor, "}"), what);
  }

  TempDir dir_;
};

TEST_F(SafetensorsFileTest, ReadsTensorsByNameInAnyHeaderOrder) {
  const auto opened =
      SafetensorsFile::Open(dir_.Write("x.safetensors", FileBytes(kHeader, "aaaabbbbbbbb")));
  ASSERT_TRUE(opened.ok()) << opened.status();
  const SafetensorsFile& file = **opened;
  ASSERT_EQ(file.tensors().size(), 3U);
  EXPECT_EQ(file.tensors()[0].name, "a");
  const TensorInfo* b = file.Find("b");
  EXPECT_EQ(b->dtype, "BF16");
  EXPECT_THAT(b->shape, ElementsAre(2, 2));
  EXPECT_EQ(b->bytes, 8);
  EXPECT_EQ(std::string(reinterpret_cast<const char*>(b->data), 8), "bbbbbbbb");
  EXPECT_EQ(file.Find("none")->bytes, 0);
  EXPECT_EQ(file.Find("c"), nullptr);
}

TEST_F(SafetensorsFileTest, RefusesAFileCutAtAnyByte) {
  const std::string whole = FileBytes(kHeader, "aaaabbbbbbbb");
  for (size_t size = 0; size < whole.size(); ++size) {
    EXPECT_FALSE(SafetensorsFile::Open(dir_.Write("x", whole.substr(0, size))).ok())
        << "cut at " << size;
  }
  EXPECT_FALSE(SafetensorsFile::Open(dir_.Write("x", whole + "x")).ok());
}

TEST_F(SafetensorsFileTest, SurvivesAnyByteBeingWrong) {
  static constexpr char kFlips[] = {'\x01', '\x10', '\x80'};
  const std::string whole = FileBytes(kHeader, "aaaabbbbbbbb");
  int refused = 0;
  for (size_t at = 0; at + 12 < whole.size(); ++at) {
    std::string bytes = whole;
    bytes[at] = static_cast<char>(bytes[at] ^ kFlips[at % 3]);
    const auto file = SafetensorsFile::Open(dir_.Write("x", bytes));
    if (!file.ok()) {
      ++refused;
      continue;
    }
    for (const TensorInfo& tensor : (*file)->tensors()) {
      for (int64_t i = 0; i < tensor.bytes; ++i) EXPECT_GE(tensor.data[i], 'a');
    }
  }
  EXPECT_GT(refused, 100);
}

TEST_F(SafetensorsFileTest, RefusesSizesThatDisagree) {
  ExpectTensorRefused(R"({"dtype":"F32","shape":[1000,1000],"data_offsets":[0,16]})",
                      "needs 4000000");
  ExpectTensorRefused(R"({"dtype":"F32","shape":[1099511627776,1099511627776],)"
                      R"("data_offsets":[0,16]})",
                      "too large");
  ExpectTensorRefused(R"({"dtype":"F32","shape":[5],"data_offsets":[0,20]})", "truncated");
  ExpectTensorRefused(R"({"dtype":"F32","shape":[4],"data_offsets":[16,0]})", "[16, 0)");
  ExpectTensorRefused(R"({"dtype":"F32","shape":[2],"data_offsets":[0,8]})", "cover 8 of 16");
  ExpectTensorRefused(R"({"dtype":"F31","shape":[4],"data_offsets":[0,16]})", "unknown dtype");
}

TEST_F(SafetensorsFileTest, RefusesOverlapsAndHoles) {
  const auto two = [](int begin, int end) {
    return absl::StrCat(R"({"s":{"dtype":"U8","shape":[8],"data_offsets":[0,8]},"t":{"dtype":"U8",)"
                        R"("shape":[)",
                        end - begin, R"(],"data_offsets":[)", begin, ",", end, "]}}");
  };
  ExpectHeaderRefused(two(0, 8), "overlaps");
  ExpectHeaderRefused(two(7, 16), "overlaps");
  ExpectHeaderRefused(two(9, 16), "hole");
}

TEST_F(SafetensorsFileTest, RefusesHeadersOfAnotherForm) {
  ExpectTensorRefused(R"({"dtype":"U8","shape":[-16],"data_offsets":[0,16]})", "-16 is negative");
  ExpectTensorRefused(R"({"dtype":"U8","shape":[16.0],"data_offsets":[0,16]})", "whole number");
  ExpectTensorRefused(R"({"dtype":"U8","shape":[18446744073709551615],"data_offsets":[0,16]})",
                      "too large");
  ExpectTensorRefused(R"({"dtype":"U8","shape":["16"],"data_offsets":[0,16]})", "string");
  ExpectTensorRefused(R"({"dtype":"U8","shape":[[16]],"data_offsets":[0,16]})", "list");
  ExpectTensorRefused(R"({"dtype":"U8","shape":[16],"data_offsets":[0,16,16]})", "more than two");
  ExpectTensorRefused(R"({"dtype":"U8","shape":[16],"data_offsets":[0]})", "two data_offsets");
  ExpectTensorRefused(R"({"dtype":"U8","shape":[16]})", "needs dtype");
  ExpectTensorRefused(R"({"dtype":"U8","shape":[16],"data_offsets":[0,16],"x":1})", "unknown key");
  ExpectTensorRefused(R"({"dtype":"U8","shape":[1,1,1,1,1,1,1,1,16],"data_offsets":[0,16]})",
                      "too many dimensions");
  ExpectTensorRefused("null", "null");
  ExpectTensorRefused("7", "number");
  ExpectHeaderRefused("[]", "list");
  ExpectHeaderRefused("{", "malformed JSON");
  ExpectHeaderRefused(std::string(100'000, '['), "list");
  const std::string t = R"("t":{"dtype":"U8","shape":[16],"data_offsets":[0,16]})";
  ExpectHeaderRefused(absl::StrCat("{", t, ",", t, "}"), "\"t\" appears twice");
}

TEST_F(SafetensorsFileTest, SaysWhatElseTheFileIs) {
  ExpectRefused(dir_.Write("x", ""), "empty file");
  ExpectRefused(dir_.Write("x", "version https://git-lfs.github.com/spec/v1\n"), "Git LFS");
  ExpectRefused(dir_.Write("x", "<html><body>Not found"), "web page");
  ExpectRefused(dir_.Write("x", "some other long text"), "not a safetensors file?");
}

TEST_F(SafetensorsFileTest, OpensTheSingleFileOfAFolder) {
  dir_.Write("model.safetensors", Shard({"a"}));
  const auto file = SafetensorsFile::Open(dir_.path());
  ASSERT_TRUE(file.ok()) << file.status();
  EXPECT_NE((*file)->Find("a"), nullptr);
}

TEST_F(SafetensorsFileTest, OpensTheShardsOfAnIndexAndIgnoresOtherFiles) {
  dir_.Write("1.safetensors", Shard({"a", "c"}));
  dir_.Write("2.safetensors", Shard({"b"}));
  dir_.Write("3.safetensors", "not even a file of weights");
  dir_.Write("model.safetensors.index.json",
             R"({"metadata":{"total_size":12,"x":[[1]]},"weight_map":{"a":"1.safetensors",)"
             R"("b":"2.safetensors","c":"1.safetensors"}})");
  const auto file = SafetensorsFile::Open(dir_.path());
  ASSERT_TRUE(file.ok()) << file.status();
  ASSERT_EQ((*file)->tensors().size(), 3U);
  EXPECT_EQ((*file)->tensors()[1].name, "b");
}

TEST_F(SafetensorsFileTest, ListsWhatAnIndexPromisesAndTheFilesLack) {
  dir_.Write("1.safetensors", Shard({"a"}));
  const auto index = [&](const std::string& map) {
    dir_.Write("model.safetensors.index.json", absl::StrCat("{\"weight_map\":", map, "}"));
  };
  index(R"({"a":"1.safetensors","b":"2.safetensors"})");
  ExpectRefused(dir_.path(), "missing: 2.safetensors");
  dir_.Write("2.safetensors", Shard({"c"}));
  ExpectRefused(dir_.path(), "\"b\" (2.safetensors)");
  dir_.Write("2.safetensors", Shard({"a"}));
  index(R"({"a":"1.safetensors","x":"2.safetensors"})");
  ExpectRefused(dir_.path(), "\"x\" (2.safetensors)");
}

TEST_F(SafetensorsFileTest, RefusesATensorThatIsInTwoShards) {
  dir_.Write("1.safetensors", Shard({"a"}));
  dir_.Write("2.safetensors", Shard({"a", "b"}));
  dir_.Write("model.safetensors.index.json",
             R"({"weight_map":{"a":"1.safetensors","b":"2.safetensors"}})");
  ExpectRefused(dir_.path(), "more than one file");
}

TEST_F(SafetensorsFileTest, RefusesIndexesOfAnotherForm) {
  const auto expect = [&](const std::string& index, const std::string& what) {
    dir_.Write("model.safetensors.index.json", index);
    ExpectRefused(dir_.path(), what);
  };
  ExpectRefused(dir_.path(), "neither model.safetensors nor");
  expect(R"({"weight_map":{"a":"../x.safetensors"}})", "not a plain file name");
  expect(R"({"weight_map":{"a":"/etc/passwd"}})", "not a plain file name");
  expect(R"({"weight_map":{"a":".."}})", "not a plain file name");
  expect(R"({"weight_map":{"a":""}})", "not a plain file name");
  expect(R"({"weight_map":{"a":"x\u0000y"}})", "not a plain file name");
  expect(R"({"weight_map":{"a":1}})", "not a string");
  expect(R"({"weight_map":{"a":{}}})", "not a string");
  expect(R"({"weight_map":{"a":"x","a":"y"}})", "appears twice");
  expect(R"({"metadata":{}})", "no weight_map");
  expect("{", "malformed JSON");
  expect(std::string(100'000, '['), "too deeply");
}

}  // namespace
}  // namespace shoal::safetensors
