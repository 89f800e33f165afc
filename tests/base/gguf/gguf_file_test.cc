// SPDX-License-Identifier: Apache-2.0
#include "base/gguf/gguf_file.h"

#include <chrono>
#include <limits>

#include "absl/strings/str_cat.h"
#include "base/gguf/gguf_builder.h"
#include "base/temp_dir.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"

namespace shoal::gguf {
namespace {

using shoal::testing::GgufBuilder;
using shoal::testing::TempDir;
using ::testing::ElementsAre;
using ::testing::HasSubstr;

namespace t = shoal::testing;

class GgufFileTest : public ::testing::Test {
 protected:
  absl::StatusOr<std::unique_ptr<GgufFile>> Open(const GgufBuilder& builder) {
    return GgufFile::Open(dir_.Write("model.gguf", builder.bytes()));
  }
  // The file must be refused as INVALID_ARGUMENT with `what` in the message.
  void ExpectRefused(const GgufBuilder& builder, const std::string& what) {
    const auto file = Open(builder);
    ASSERT_FALSE(file.ok()) << "accepted; expected: " << what;
    EXPECT_EQ(file.status().code(), absl::StatusCode::kInvalidArgument) << file.status();
    EXPECT_THAT(std::string(file.status().message()), HasSubstr(what));
    EXPECT_THAT(std::string(file.status().message()), HasSubstr("model.gguf"));
  }

  TempDir dir_;
};

// Every value type, and a float, a block-quantised and an unknown tensor.
GgufBuilder SmallFile() {
  GgufBuilder b;
  b.Header(3, 15)
      .TextKey("general.architecture", "llama")
      .Key<uint8_t>("u8", t::kGgufUint8, 200)
      .Key<int8_t>("i8", t::kGgufInt8, -3)
      .Key<uint16_t>("u16", t::kGgufUint16, 60000)
      .Key<int16_t>("i16", t::kGgufInt16, -300)
      .Key<uint32_t>("u32", t::kGgufUint32, 4000000000U)
      .Key<int32_t>("i32", t::kGgufInt32, -70000)
      .Key<float>("f32", t::kGgufFloat32, 0.5F)
      .Key<uint8_t>("flag", t::kGgufBool, 1)
      .Key<uint64_t>("u64", t::kGgufUint64, uint64_t{1} << 62)
      .Key<int64_t>("i64", t::kGgufInt64, -(int64_t{1} << 62))
      .Key<double>("f64", t::kGgufFloat64, 0.25);
  b.ArrayKey("texts", t::kGgufString, 2).Text("a").Text("");
  b.ArrayKey("numbers", t::kGgufInt32, 2).Put<int32_t>(-1).Put<int32_t>(7);
  b.ArrayKey("floats", t::kGgufFloat32, 1).Put(1.5F);
  b.Tensor("f", {3, 2}, 0, 0).Tensor("q", {64, 2}, 3, 32).Tensor("x", {5}, 99, 128);
  return b.Align().Data(24, 'f').Align().Data(80, 'q').Align().Data(10, 'x');
}

TEST_F(GgufFileTest, ReadsEveryValueType) {
  const auto opened = Open(SmallFile());
  ASSERT_TRUE(opened.ok()) << opened.status();
  const GgufFile& file = **opened;
  EXPECT_EQ(file.GetString("general.architecture").value(), "llama");
  EXPECT_EQ(file.GetInt("u8").value(), 200);
  EXPECT_EQ(file.GetInt("i8").value(), -3);
  EXPECT_EQ(file.GetInt("u16").value(), 60000);
  EXPECT_EQ(file.GetInt("i16").value(), -300);
  EXPECT_EQ(file.GetInt("u32").value(), 4000000000);
  EXPECT_EQ(file.GetInt("i32").value(), -70000);
  EXPECT_EQ(file.GetInt("flag").value(), 1);
  EXPECT_EQ(file.GetInt("u64").value(), int64_t{1} << 62);
  EXPECT_EQ(file.GetInt("i64").value(), -(int64_t{1} << 62));
  EXPECT_EQ(file.GetDouble("f32").value(), 0.5);
  EXPECT_EQ(file.GetDouble("f64").value(), 0.25);
  EXPECT_EQ(file.GetDouble("u8").value(), 200.0);
  EXPECT_THAT(std::get<std::vector<std::string>>(*file.Find("texts")), ElementsAre("a", ""));
  EXPECT_THAT(std::get<std::vector<int64_t>>(*file.Find("numbers")), ElementsAre(-1, 7));
  EXPECT_THAT(std::get<std::vector<double>>(*file.Find("floats")), ElementsAre(1.5));
}

TEST_F(GgufFileTest, PlacesTensorsWithTheOutermostDimensionFirst) {
  const auto opened = Open(SmallFile());
  ASSERT_TRUE(opened.ok()) << opened.status();
  const GgufFile& file = **opened;
  ASSERT_EQ(file.tensors().size(), 3U);
  const TensorInfo* f = file.FindTensor("f");
  EXPECT_THAT(f->shape, ElementsAre(2, 3));
  EXPECT_EQ(f->bytes, 24);
  EXPECT_EQ(f->data[23], 'f');
  const TensorInfo* q = file.FindTensor("q");
  EXPECT_EQ(TypeName(q->type), "Q4_1");
  EXPECT_EQ(q->bytes, 2 * 2 * 20);
  EXPECT_EQ(q->data[0], 'q');
  EXPECT_EQ(q->data[79], 'q');
  EXPECT_EQ(file.FindTensor("nothing"), nullptr);
}

TEST_F(GgufFileTest, KeepsTensorsOfUnknownTypesInTheDirectory) {
  const auto opened = Open(SmallFile());
  ASSERT_TRUE(opened.ok()) << opened.status();
  const TensorInfo* x = (*opened)->FindTensor("x");
  EXPECT_EQ(TypeName(x->type), "type 99");
  EXPECT_EQ(x->bytes, 10);
  EXPECT_EQ(x->data[9], 'x');
}

TEST_F(GgufFileTest, TellsAbsentKeysFromKeysOfAnotherType) {
  const auto opened = Open(SmallFile());
  ASSERT_TRUE(opened.ok()) << opened.status();
  const GgufFile& file = **opened;
  EXPECT_EQ(file.Find("nothing"), nullptr);
  EXPECT_EQ(file.GetInt("nothing").status().code(), absl::StatusCode::kNotFound);
  EXPECT_EQ(file.GetString("u8").status().code(), absl::StatusCode::kInvalidArgument);
  EXPECT_EQ(file.GetInt("f32").status().code(), absl::StatusCode::kInvalidArgument);
  EXPECT_EQ(file.GetDouble("texts").status().code(), absl::StatusCode::kInvalidArgument);
  EXPECT_THAT(std::string(file.GetInt("texts").status().message()),
              HasSubstr("\"texts\" is of type list of strings, not integer"));
}

TEST_F(GgufFileTest, RefusesAFileCutAtAnyByte) {
  const std::string whole = SmallFile().bytes();
  const size_t unknown_tensor = 10;  // its length is what the file has, so it can be cut
  for (size_t size = 0; size < whole.size(); ++size) {
    const auto file = GgufFile::Open(dir_.Write("model.gguf", whole.substr(0, size)));
    EXPECT_EQ(file.ok(), size >= whole.size() - unknown_tensor) << "cut at " << size;
  }
}

TEST_F(GgufFileTest, SurvivesAnyByteBeingWrong) {
  static constexpr char kFlips[] = {'\x01', '\x80', '\xff'};
  const std::string whole = SmallFile().bytes();
  int refused = 0;
  for (size_t at = 0; at < whole.size(); ++at) {
    std::string bytes = whole;
    bytes[at] = static_cast<char>(bytes[at] ^ kFlips[at % 3]);
    const auto file = GgufFile::Open(dir_.Write("model.gguf", bytes));
    if (!file.ok()) {
      ++refused;
      continue;
    }
    uint64_t sum = 0;  // touches every byte a tensor claims
    for (const TensorInfo& tensor : (*file)->tensors()) {
      for (int64_t i = 0; i < tensor.bytes; ++i) sum += tensor.data[i];
    }
    EXPECT_GT(sum, 0U);
  }
  EXPECT_GT(refused, 100);
}

TEST_F(GgufFileTest, SaysWhatElseTheFileIs) {
  const auto message = [&](absl::string_view bytes) {
    return std::string(GgufFile::Open(dir_.Write("m", bytes)).status().message());
  };
  EXPECT_THAT(message(""), HasSubstr("empty file"));
  EXPECT_THAT(message("version https://git-lfs.github.com/spec/v1\noid"), HasSubstr("Git LFS"));
  EXPECT_THAT(message("  <!DOCTYPE html><html>"), HasSubstr("web page"));
  EXPECT_THAT(message("GGUg\3\0\0\0 and more text behind it"), HasSubstr("not a GGUF file"));
}

TEST_F(GgufFileTest, RefusesOtherVersionsAndByteOrders) {
  ExpectRefused(GgufBuilder().Header(0, 0, 1), "GGUF version 1");
  ExpectRefused(GgufBuilder().Header(0, 0, 999), "GGUF version 999");
  ExpectRefused(GgufBuilder().Header(0, 0, 0x03000000), "big-endian");
  EXPECT_TRUE(Open(GgufBuilder().Header(0, 0, 2)).ok());
}

TEST_F(GgufFileTest, RefusesCountsThatTheFileCannotHold) {
  const uint64_t huge = std::numeric_limits<uint64_t>::max();
  ExpectRefused(GgufBuilder().Header(0, huge), "more than the file can hold");
  ExpectRefused(GgufBuilder().Header(huge, 0), "more than the file can hold");
  ExpectRefused(GgufBuilder().Header(0, 1).Put(huge).Data(32), "a string of");
  ExpectRefused(GgufBuilder().Header(0, 1).ArrayKey("k", t::kGgufInt32, huge), "truncated");
  ExpectRefused(GgufBuilder().Header(0, 1).ArrayKey("k", t::kGgufString, huge / 8), "truncated");
}

TEST_F(GgufFileTest, RefusesValuesItCannotKeep) {
  const auto one = [] { return GgufBuilder().Header(0, 1); };
  ExpectRefused(one().Key<uint64_t>("k", t::kGgufUint64, uint64_t{1} << 63), "\"k\"");
  ExpectRefused(one().Key<uint8_t>("k", t::kGgufBool, 2), "2 is not a bool");
  ExpectRefused(one().Key<uint64_t>("k", static_cast<t::GgufType>(13), 0), "unknown value type");
  ExpectRefused(one().ArrayKey("k", t::kGgufArray, 1).Data(64), "lists of lists");
  ExpectRefused(one().ArrayKey("k", static_cast<t::GgufType>(77), 1).Data(64), "element type 77");
  GgufBuilder twice;
  twice.Header(0, 2).Key<uint8_t>("k", t::kGgufUint8, 1).Key<uint8_t>("k", t::kGgufUint8, 1);
  ExpectRefused(twice, "\"k\" appears twice");
}

TEST_F(GgufFileTest, RefusesAlignmentsThatAreNoSmallPowerOfTwo) {
  for (const uint32_t alignment : {0U, 3U, 4U, 48U, 0x80000000U}) {
    ExpectRefused(GgufBuilder().Header(0, 1).Key("general.alignment", t::kGgufUint32, alignment),
                  absl::StrCat("general.alignment ", alignment));
  }
  ExpectRefused(GgufBuilder().Header(0, 1).Key("general.alignment", t::kGgufInt32, int32_t{-1}),
                "general.alignment -1");
  ExpectRefused(GgufBuilder().Header(0, 1).TextKey("general.alignment", "32"),
                "of type string, not integer");
}

TEST_F(GgufFileTest, ObeysTheAlignmentOfTheFile) {
  GgufBuilder b;
  b.Header(1, 1).Key<uint32_t>("general.alignment", t::kGgufUint32, 256);
  b.Tensor("f", {1}, 0, 0).Align(256).Data(4, 'f');
  const auto file = Open(b);
  ASSERT_TRUE(file.ok()) << file.status();
  EXPECT_EQ((*file)->FindTensor("f")->data[0], 'f');
}

TEST_F(GgufFileTest, RefusesTensorsThatDoNotLieInTheFile) {
  const auto with = [](const std::vector<int64_t>& shape, uint32_t type, int64_t offset) {
    return GgufBuilder().Header(1, 0).Tensor("t", shape, type, offset).Align().Data(64);
  };
  const int64_t huge = std::numeric_limits<int64_t>::max();
  EXPECT_TRUE(Open(with({16}, 0, 0)).ok());
  ExpectRefused(with({17}, 0, 0), "ends after the file");
  ExpectRefused(with({16}, 0, 32), "ends after the file");
  ExpectRefused(with({16}, 0, 128), "truncated file");
  ExpectRefused(with({1}, 0, 4), "not a multiple of 32");
  ExpectRefused(with({1}, 0, -32), "not a multiple of 32");
  ExpectRefused(with({huge, huge, huge, huge}, 0, 0), "ends after the file");
  ExpectRefused(with({int64_t{1} << 40, int64_t{1} << 40}, 1, 0), "ends after the file");
  ExpectRefused(with({0, 4}, 0, 0), "dimension of 0");
  ExpectRefused(with({-4}, 0, 0), "dimension of -4");
  ExpectRefused(with({1, 1, 1, 1, 1}, 0, 0), "5 dimensions");
  ExpectRefused(with({48}, 3, 0), "not a multiple of 32");
  ExpectRefused(with({1}, 99, 128), "truncated file");
}

TEST_F(GgufFileTest, RefusesTensorsThatShareBytesOrNames) {
  GgufBuilder overlap;
  overlap.Header(2, 0).Tensor("a", {16}, 0, 0).Tensor("b", {8}, 0, 32).Align().Data(64);
  ExpectRefused(overlap, "overlaps the tensor at 32");
  GgufBuilder same;
  same.Header(2, 0).Tensor("a", {8}, 0, 0).Tensor("a", {8}, 0, 32).Align().Data(64);
  ExpectRefused(same, "\"a\" appears twice");
}

TEST_F(GgufFileTest, ReadsALargeVocabularyWithinASecond) {
  GgufBuilder b;
  b.Header(2000, 1).ArrayKey("tokens", t::kGgufString, 256'000);
  for (int i = 0; i < 256'000; ++i) b.Text("token");
  for (int i = 0; i < 2000; ++i) b.Tensor(absl::StrCat("t", i), {8}, 0, i * 32);
  b.Align().Data(2000 * 32);
  const std::string path = dir_.Write("model.gguf", b.bytes());
  const auto start = std::chrono::steady_clock::now();
  const auto file = GgufFile::Open(path);
  const auto took = std::chrono::steady_clock::now() - start;
  ASSERT_TRUE(file.ok()) << file.status();
  EXPECT_EQ(std::get<std::vector<std::string>>(*(*file)->Find("tokens")).size(), 256'000U);
  EXPECT_LT(took, std::chrono::seconds(1));
}

}  // namespace
}  // namespace shoal::gguf
