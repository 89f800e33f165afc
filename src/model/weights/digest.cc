// SPDX-License-Identifier: Apache-2.0
#include "model/weights/digest.h"

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "base/hash.h"

namespace shoal::model {
namespace {

constexpr int64_t kSampleBytes = 4096;
constexpr int64_t kPieces = 16;
constexpr int64_t kPieceBytes = kSampleBytes / kPieces;

absl::string_view Bytes(const uint8_t* data, int64_t bytes) {
  return {reinterpret_cast<const char*>(data), static_cast<size_t>(bytes)};
}

void AddSample(Sha256Stream& hash, const TensorEntry& tensor) {
  if (tensor.bytes <= kSampleBytes) {
    if (tensor.bytes > 0) hash.Add(Bytes(tensor.data, tensor.bytes));
    return;
  }
  for (int64_t i = 0; i < kPieces; ++i) {
    const int64_t begin = (tensor.bytes - kPieceBytes) * i / (kPieces - 1);
    hash.Add(Bytes(tensor.data + begin, kPieceBytes));
  }
}

}  // namespace

std::string WeightsDigest(const TensorDirectory& directory) {
  Sha256Stream hash;
  for (const TensorEntry& tensor : directory.entries()) {
    // Lengths first, so that no two directories give the same text.
    const std::string header =
        absl::StrCat(tensor.name.size(), ":", tensor.name, " ", tensor.type, " [",
                     absl::StrJoin(tensor.shape, ","), "] ", tensor.bytes, "\n");
    hash.Add(header);
    AddSample(hash, tensor);
  }
  return hash.Hex();
}

}  // namespace shoal::model
