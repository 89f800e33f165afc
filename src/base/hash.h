// SPDX-License-Identifier: Apache-2.0
// Hashes of bytes: XXH3 for checksums, SHA-256 where nobody may find two texts of one hash.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>

#include "absl/strings/string_view.h"

namespace shoal {

using Sha256Digest = std::array<uint8_t, 32>;

// Thread-safe. The same on every machine.
uint64_t Xxh3(absl::string_view bytes, uint64_t seed = 0);

// Thread-safe.
Sha256Digest Sha256(absl::string_view bytes);
// The digest as 64 lower-case hex digits.
std::string Sha256Hex(absl::string_view bytes);

// SHA-256 of text that comes in pieces: the digest of their concatenation. Owned by one thread.
class Sha256Stream {
 public:
  Sha256Stream();
  ~Sha256Stream();
  void Add(absl::string_view bytes);
  // Ends the text: at most once, and nothing is added after it.
  std::string Hex();

 private:
  struct Context;
  std::unique_ptr<Context> context_;
};

}  // namespace shoal
