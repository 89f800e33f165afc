// SPDX-License-Identifier: Apache-2.0
#include "base/random.h"

#include <openssl/crypto.h>
#include <sys/random.h>

#include <array>
#include <cerrno>

#include "base/check.h"
#include "base/hash.h"

namespace shoal {

void FillRandom(void* out, size_t bytes) {
  auto* next = static_cast<uint8_t*>(out);
  while (bytes > 0) {
    const ssize_t got = getrandom(next, bytes, 0);
    if (got < 0 && errno == EINTR) continue;
    SHOAL_CHECK(got > 0);
    next += got;
    bytes -= static_cast<size_t>(got);
  }
}

uint64_t RandomId() {
  uint64_t id = 0;
  while (id == 0) FillRandom(&id, sizeof(id));
  return id;
}

std::string HexEncode(absl::string_view bytes) {
  static constexpr char kDigits[] = "0123456789abcdef";
  std::string text;
  text.reserve(bytes.size() * 2);
  for (const char c : bytes) {
    const auto byte = static_cast<uint8_t>(c);
    text += kDigits[byte >> 4];
    text += kDigits[byte & 15];
  }
  return text;
}

std::string HexId(uint64_t id) {
  std::array<char, 8> bytes;
  for (size_t i = 0; i < bytes.size(); ++i) bytes[i] = static_cast<char>(id >> (56 - 8 * i));
  return HexEncode({bytes.data(), bytes.size()});
}

bool ConstantTimeEqual(absl::string_view a, absl::string_view b) {
  const Sha256Digest digest_a = Sha256(a);
  const Sha256Digest digest_b = Sha256(b);
  return CRYPTO_memcmp(digest_a.data(), digest_b.data(), digest_a.size()) == 0;
}

}  // namespace shoal
