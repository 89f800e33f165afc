// SPDX-License-Identifier: Apache-2.0
#include "scheduler/sequence.h"

#include <span>

#include "base/check.h"

namespace shoal::scheduler {

int32_t Sequence::Remaining() const {
  if (samples_in_flight > 0) {
    // Everything known is planned; the next position holds the latest sample, and computing it is
    // of use only if another token may follow.
    SHOAL_CHECK(planned + 1 == tokens_promised());
    return tokens_promised() < tokens_limit ? 1 : 0;
  }
  SHOAL_CHECK(planned <= static_cast<int32_t>(tokens.size()));
  return static_cast<int32_t>(tokens.size()) - planned;
}

bool Sequence::PromptBlocksApplied(int32_t block_tokens) const {
  return applied >= request.prompt_tokens / block_tokens * block_tokens;
}

void Sequence::HashBlocks(int32_t blocks, int32_t block_tokens) {
  SHOAL_CHECK(blocks >= 0);
  SHOAL_CHECK(int64_t{blocks} * block_tokens <= static_cast<int64_t>(tokens.size()));
  while (static_cast<int32_t>(hashes.size()) < blocks) {
    const size_t first = hashes.size() * static_cast<size_t>(block_tokens);
    const BlockHash& parent = hashes.empty() ? root : hashes.back();
    hashes.push_back(
        ChainHash(parent, std::span(tokens).subspan(first, static_cast<size_t>(block_tokens))));
  }
}

}  // namespace shoal::scheduler
