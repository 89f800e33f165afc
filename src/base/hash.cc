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

std::string Sha256Hex(absl::string_view bytes) {
  const Sha256Digest digest = Sha256(bytes);
  return HexEncode({reinterpret_cast<const char*>(digest.data()), digest.size()});
}

}  // namespace shoal
