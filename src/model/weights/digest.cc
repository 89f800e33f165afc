// SPDX-License-Identifier: Apache-2.0
#include "model/weights/digest.h"

#include <openssl/evp.h>

#include <algorithm>
#include <array>
#include <memory>

#include "absl/strings/escaping.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "base/check.h"

namespace shoal::model {
namespace {

constexpr int64_t kSampleBytes = 4096;
constexpr int64_t kPieces = 16;
constexpr int64_t kPieceBytes = kSampleBytes / kPieces;

class Sha256 {
 public:
  Sha256() : context_(EVP_MD_CTX_new(), EVP_MD_CTX_free) {
    SHOAL_CHECK(context_ != nullptr);
    SHOAL_CHECK(EVP_DigestInit_ex(context_.get(), EVP_sha256(), nullptr) == 1);
  }
  void Add(const void* data, size_t bytes) {
    SHOAL_CHECK(EVP_DigestUpdate(context_.get(), data, bytes) == 1);
  }
  std::string Hex() {
    std::array<unsigned char, EVP_MAX_MD_SIZE> digest{};
    unsigned int bytes = 0;
    SHOAL_CHECK(EVP_DigestFinal_ex(context_.get(), digest.data(), &bytes) == 1);
    return absl::BytesToHexString(
        absl::string_view(reinterpret_cast<const char*>(digest.data()), bytes));
  }

 private:
  std::unique_ptr<EVP_MD_CTX, decltype(&EVP_MD_CTX_free)> context_;
};

void AddSample(Sha256& hash, const TensorEntry& tensor) {
  if (tensor.bytes <= kSampleBytes) {
    if (tensor.bytes > 0) hash.Add(tensor.data, static_cast<size_t>(tensor.bytes));
    return;
  }
  for (int64_t i = 0; i < kPieces; ++i) {
    const int64_t begin = (tensor.bytes - kPieceBytes) * i / (kPieces - 1);
    hash.Add(tensor.data + begin, static_cast<size_t>(kPieceBytes));
  }
}

}  // namespace

std::string WeightsDigest(const TensorDirectory& directory) {
  Sha256 hash;
  for (const TensorEntry& tensor : directory.entries()) {
    // Lengths first, so that no two directories give the same text.
    const std::string header =
        absl::StrCat(tensor.name.size(), ":", tensor.name, " ", tensor.type, " [",
                     absl::StrJoin(tensor.shape, ","), "] ", tensor.bytes, "\n");
    hash.Add(header.data(), header.size());
    AddSample(hash, tensor);
  }
  return hash.Hex();
}

}  // namespace shoal::model
