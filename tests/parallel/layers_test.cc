// SPDX-License-Identifier: Apache-2.0
// The split layers in a group of one, and what they say to larger groups.
#include <memory>
#include <string>
#include <vector>

#include "gtest/gtest.h"
#include "kernels/backend.h"
#include "parallel/layers/linear.h"
#include "parallel/layers/vocabulary.h"

namespace shoal::parallel {
namespace {

using kernels::DType;
using kernels::Tensor;

// Claims a size; every exchange would be a bug, as creation must refuse before.
class FakeGroup final : public Communicator {
 public:
  explicit FakeGroup(int32_t size) : size_(size) {}
  int32_t rank() const override { return 0; }
  int32_t size() const override { return size_; }
  absl::Status AllGather(ConstBytes, Bytes) override { return Unexpected(); }
  absl::Status ReduceScatter(std::span<const float>, std::span<float>) override {
    return Unexpected();
  }
  absl::Status AllToAllV(ConstBytes, std::span<const int64_t>, Bytes,
                         std::span<const int64_t>) override {
    return Unexpected();
  }
  absl::Status Broadcast(Bytes, int32_t) override { return Unexpected(); }
  absl::Status Send(ConstBytes, int32_t) override { return Unexpected(); }
  absl::Status Receive(Bytes, int32_t) override { return Unexpected(); }
  void Abort(absl::string_view) override {}

 private:
  static absl::Status Unexpected() {
    ADD_FAILURE() << "an exchange in a group that is refused";
    return absl::InternalError("unexpected exchange");
  }
  const int32_t size_;
};

class Layers : public ::testing::Test {
 protected:
  void SetUp() override {
    auto backend = kernels::CreateBackend("cpu");
    ASSERT_TRUE(backend.ok()) << backend.status();
    backend_ = *std::move(backend);
    auto stream = backend_->CreateStream({});
    ASSERT_TRUE(stream.ok()) << stream.status();
    stream_ = *std::move(stream);
    source_.name = "layer 0 test";
    source_.parts = {{.rows = 2, .cols = 4, .data = weights_.data()}};
    source_.bias = {0.5F, -0.5F};
    source_.leaves = kernels::MakeLeafPlan(4, 1, 4);
  }

  // W = [[1, 2, 3, 4], [5, 6, 7, 8]].
  std::vector<float> weights_{1, 2, 3, 4, 5, 6, 7, 8};
  std::vector<float> in_{1, 0, -1, 2};
  kernels::MatrixSource source_;
  std::unique_ptr<kernels::Backend> backend_;
  std::unique_ptr<kernels::Stream> stream_;
  std::unique_ptr<Communicator> one_ = CreateSingleRankCommunicator();
};

TEST_F(Layers, OfOneRankHoldTheWholeMatrix) {
  std::vector<float> out{100, 200};
  const Tensor in(in_.data(), DType::kF32, {1, 4});
  const Tensor result(out.data(), DType::kF32, {1, 2});
  const auto row = RowLinear::Create(*backend_, *one_, source_);
  ASSERT_TRUE(row.ok()) << row.status();
  EXPECT_EQ(row->inputs(), 4);
  ASSERT_TRUE(row->ApplyAdd(*stream_, in, result).ok());
  ASSERT_TRUE(stream_->Synchronize().ok());
  EXPECT_EQ(out, (std::vector<float>{106.5F, 213.5F}));

  source_.leaves = kernels::SingleLeaf(4);
  const auto column = ColumnLinear::Create(*backend_, *one_, source_);
  ASSERT_TRUE(column.ok()) << column.status();
  EXPECT_EQ(column->outputs(), 2);
  column->Apply(*stream_, in, result);
  ASSERT_TRUE(stream_->Synchronize().ok());
  EXPECT_EQ(out, (std::vector<float>{6.5F, 13.5F}));
}

TEST_F(Layers, OfTheVocabularyGatherAndScore) {
  const kernels::WeightView table = source_.parts[0];
  const auto embedding = VocabularyEmbedding::Create(*backend_, *one_, table, "embedding");
  ASSERT_TRUE(embedding.ok()) << embedding.status();
  std::vector<float> hidden(8);
  const Tensor rows(hidden.data(), DType::kF32, {2, 4});
  const std::vector<int32_t> tokens{1, 0};
  ASSERT_TRUE(embedding->Apply(*stream_, tokens, 2, rows).ok());
  source_.leaves = kernels::SingleLeaf(4);
  source_.bias.clear();
  const auto head = VocabularyHead::Create(*backend_, *one_, source_);
  ASSERT_TRUE(head.ok()) << head.status();
  std::vector<float> logits(4);
  ASSERT_TRUE(head->Apply(*stream_, rows, Tensor(logits.data(), DType::kF32, {2, 2})).ok());
  ASSERT_TRUE(stream_->Synchronize().ok());
  EXPECT_EQ(hidden, (std::vector<float>{10, 12, 14, 16, 2, 4, 6, 8}));
  EXPECT_EQ(logits, (std::vector<float>{140, 348, 60, 140}));
}

TEST_F(Layers, AreRefusedToGroupsThatAreNotBuilt) {
  FakeGroup two(2);
  for (const absl::Status& status :
       {ColumnLinear::Create(*backend_, two, source_).status(),
        RowLinear::Create(*backend_, two, source_).status(),
        VocabularyHead::Create(*backend_, two, source_).status(),
        VocabularyEmbedding::Create(*backend_, two, source_.parts[0], "e").status()}) {
    EXPECT_EQ(status.code(), absl::StatusCode::kUnimplemented);
    EXPECT_NE(std::string(status.message()).find("a group of 2 ranks is not available yet"),
              std::string::npos);
  }
}

TEST_F(Layers, NameTheMatrixTheBackendRefuses) {
  source_.bias.push_back(1);  // one more than rows
  for (const absl::Status& status : {ColumnLinear::Create(*backend_, *one_, source_).status(),
                                     RowLinear::Create(*backend_, *one_, source_).status(),
                                     VocabularyHead::Create(*backend_, *one_, source_).status()}) {
    ASSERT_FALSE(status.ok());
    EXPECT_NE(std::string(status.message()).find("layer 0 test"), std::string::npos) << status;
  }
}

}  // namespace
}  // namespace shoal::parallel
