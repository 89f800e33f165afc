// SPDX-License-Identifier: Apache-2.0
#include "scheduler/types/block_hash.h"

#include <string>

#include "base/check.h"
#include "base/hash.h"

namespace shoal::scheduler {
namespace {

void AppendLittleEndian(std::string& out, uint64_t value, int bytes) {
  for (int i = 0; i < bytes; ++i) out.push_back(static_cast<char>(value >> (8 * i)));
}

BlockHash Sha256Cut(const std::string& input) {
  const Sha256Digest digest = Sha256(input);
  BlockHash hash;
  for (int i = 0; i < 8; ++i) {
    hash.high |= uint64_t{digest[i]} << (8 * i);
    hash.low |= uint64_t{digest[8 + i]} << (8 * i);
  }
  return hash;
}

}  // namespace

BlockHash NamespaceRoot(absl::string_view weights_digest, absl::string_view cache_namespace) {
  std::string input = "shoal kv namespace 1";
  for (absl::string_view part : {weights_digest, cache_namespace}) {
    AppendLittleEndian(input, part.size(), 8);
    input.append(part.data(), part.size());
  }
  return Sha256Cut(input);
}

BlockHash ChainHash(const BlockHash& parent, std::span<const TokenId> tokens) {
  SHOAL_CHECK(!tokens.empty());
  std::string input;
  input.reserve(16 + 4 * tokens.size());
  AppendLittleEndian(input, parent.high, 8);
  AppendLittleEndian(input, parent.low, 8);
  for (TokenId token : tokens) AppendLittleEndian(input, static_cast<uint32_t>(token), 4);
  return Sha256Cut(input);
}

std::vector<BlockHash> ChainHashes(const BlockHash& root, std::span<const TokenId> tokens,
                                   int32_t block_tokens) {
  SHOAL_CHECK(block_tokens > 0);
  const size_t full = tokens.size() / static_cast<size_t>(block_tokens);
  std::vector<BlockHash> hashes;
  hashes.reserve(full);
  BlockHash parent = root;
  for (size_t i = 0; i < full; ++i) {
    parent = ChainHash(parent, tokens.subspan(i * block_tokens, block_tokens));
    hashes.push_back(parent);
  }
  return hashes;
}

}  // namespace shoal::scheduler
