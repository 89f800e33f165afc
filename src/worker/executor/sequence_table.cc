// SPDX-License-Identifier: Apache-2.0
#include "worker/executor/sequence_table.h"

#include <utility>

#include "absl/strings/str_cat.h"
#include "base/status.h"

namespace shoal::worker {

absl::Status SequenceTable::Update(const scheduler::StepPlan& plan) {
  for (const scheduler::SequenceId id : plan.removed) {
    if (sequences_.erase(id) == 0) {
      return absl::InternalError(
          absl::StrCat("removed sequence ", id.value(), " is not held by this rank"));
    }
  }
  for (const scheduler::NewSequence& added : plan.added) SHOAL_RETURN_IF_ERROR(Add(added));
  for (const scheduler::AppendedBlocks& appended : plan.appended) {
    SHOAL_RETURN_IF_ERROR(Append(appended));
  }
  return absl::OkStatus();
}

absl::Status SequenceTable::Add(const scheduler::NewSequence& added) {
  for (const scheduler::TokenId token : added.tokens) {
    if (token < 0 || token >= vocab_size_) {
      return absl::InternalError(absl::StrCat("sequence ", added.sequence.value(), " has token ",
                                              token, " outside the vocabulary of ", vocab_size_));
    }
  }
  SequenceState state{.tokens = added.tokens,
                      .prompt_tokens = added.prompt_tokens,
                      .sampling = added.sampling,
                      .block_tables = {}};
  state.block_tables.resize(pools_.size());
  if (!sequences_.emplace(added.sequence, std::move(state)).second) {
    return absl::InternalError(
        absl::StrCat("added sequence ", added.sequence.value(), " is already held by this rank"));
  }
  return absl::OkStatus();
}

absl::Status SequenceTable::Append(const scheduler::AppendedBlocks& appended) {
  SHOAL_ASSIGN_OR_RETURN(SequenceState * state, Find(appended.sequence));
  if (appended.group < 0 || appended.group >= static_cast<int32_t>(pools_.size())) {
    return absl::InternalError(absl::StrCat("appended blocks name KV group ", appended.group,
                                            "; there are ", pools_.size()));
  }
  const auto group = static_cast<size_t>(appended.group);
  for (const scheduler::BlockId block : appended.blocks) {
    if (block < 0 || block >= pools_[group].blocks) {
      return absl::InternalError(absl::StrCat("block ", block, " of KV group ", appended.group,
                                              " is outside its pool of ", pools_[group].blocks));
    }
  }
  std::vector<scheduler::BlockId>& table = state->block_tables[group];
  table.insert(table.end(), appended.blocks.begin(), appended.blocks.end());
  return absl::OkStatus();
}

absl::StatusOr<SequenceState*> SequenceTable::Find(scheduler::SequenceId id) {
  const auto it = sequences_.find(id);
  if (it == sequences_.end()) {
    return absl::InternalError(
        absl::StrCat("the plan names sequence ", id.value(), ", which this rank does not hold"));
  }
  return &it->second;
}

}  // namespace shoal::worker
