// SPDX-License-Identifier: Apache-2.0
#include "base/hash.h"

#include <openssl/evp.h>
#include <xxhash.h>

#include "base/check.h"
#include "base/random.h"

namespace shoal {

uint64_t Xxh3(absl::string_view bytes, uint64_t seed) {
  return XXH3_64bits_withSeed(bytes.data(), bytes.size(), seed);
}

Sha256Digest Sha256(absl::string_view bytes) {
  Sha256Digest digest;
  unsigned int size = 0;
  const int done =
      EVP_Digest(bytes.data(), bytes.size(), digest.data(), &size, EVP_sha256(), nullptr);
  SHOAL_CHECK(done == 1);
  SHOAL_CHECK(size == digest.size());
  return digest;
}

namespace {

std::string Hex(const Sha256Digest& digest) {
  return HexEncode({reinterpret_cast<const char*>(digest.data()), digest.size()});
}

}  // namespace

std::string Sha256Hex(absl::string_view bytes) { return Hex(Sha256(bytes)); }

struct Sha256Stream::Context {
  std::unique_ptr<EVP_MD_CTX, decltype(&EVP_MD_CTX_free)> digest{EVP_MD_CTX_new(), EVP_MD_CTX_free};
};

Sha256Stream::Sha256Stream() : context_(std::make_unique<Context>()) {
  SHOAL_CHECK(context_->digest != nullptr);
  SHOAL_CHECK(EVP_DigestInit_ex(context_->digest.get(), EVP_sha256(), nullptr) == 1);
}

Sha256Stream::~Sha256Stream() = default;

void Sha256Stream::Add(absl::string_view bytes) {
  SHOAL_CHECK(EVP_DigestUpdate(context_->digest.get(), bytes.data(), bytes.size()) == 1);
}

std::string Sha256Stream::Hex() {
  Sha256Digest digest;
  unsigned int size = 0;
  SHOAL_CHECK(EVP_DigestFinal_ex(context_->digest.get(), digest.data(), &size) == 1);
  SHOAL_CHECK(size == digest.size());
  return shoal::Hex(digest);
}

}  // namespace shoal
