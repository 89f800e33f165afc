// SPDX-License-Identifier: Apache-2.0
#include "worker/frontend/cluster_token.h"

#include <openssl/crypto.h>
#include <openssl/sha.h>

#include <array>

namespace shoal::worker {
namespace {

using Digest = std::array<unsigned char, SHA256_DIGEST_LENGTH>;

Digest HashOf(absl::string_view text) {
  Digest digest;
  SHA256(reinterpret_cast<const unsigned char*>(text.data()), text.size(), digest.data());
  return digest;
}

}  // namespace

bool TokenMatches(absl::string_view expected, absl::string_view given) {
  // Digests have one length, so not even the length of the token shows.
  const Digest a = HashOf(expected);
  const Digest b = HashOf(given);
  return CRYPTO_memcmp(a.data(), b.data(), a.size()) == 0;
}

}  // namespace shoal::worker
