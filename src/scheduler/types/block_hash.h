// SPDX-License-Identifier: Apache-2.0
// Chained hashes of full KV blocks: one function for the scheduler's prefix index and the router.
// The hash of a block covers the namespace (weights, adapter, tenant salt) and every token from
// position 0 to the block's end. SHA-256 cut to 128 bits: nobody can craft two prompts that meet.
#pragma once

#include <compare>
#include <cstdint>
#include <span>
#include <utility>
#include <vector>

#include "absl/strings/string_view.h"
#include "scheduler/types/ids.h"

namespace shoal::scheduler {

struct BlockHash {
  uint64_t high = 0;
  uint64_t low = 0;
  // The form that KV events carry.
  uint64_t event_hash() const { return high; }
  friend auto operator<=>(const BlockHash&, const BlockHash&) = default;
  template <typename H>
  friend H AbslHashValue(H state, const BlockHash& hash) {
    return H::combine(std::move(state), hash.high);
  }
};

// What the first block of every sequence of a namespace chains on. The parts are length-prefixed:
// no two pairs give the same input.
BlockHash NamespaceRoot(absl::string_view weights_digest, absl::string_view cache_namespace);

// Hash of the block with these tokens behind `parent` (the previous block's hash, or the root).
BlockHash ChainHash(const BlockHash& parent, std::span<const TokenId> tokens);

// Hashes of all full blocks of `tokens`; block_tokens > 0.
std::vector<BlockHash> ChainHashes(const BlockHash& root, std::span<const TokenId> tokens,
                                   int32_t block_tokens);

}  // namespace shoal::scheduler
