// SPDX-License-Identifier: Apache-2.0
#include "worker/executor/sequence_table.h"

#include <utility>

#include "absl/strings/str_cat.h"
#include "base/status.h"

namespace shoal::worker {

namespace {

bool HasPenalty(const scheduler::SamplingParams& sampling) {
  return sampling.repetition_penalty != 1 || sampling.presence_penalty != 0 ||
         sampling.frequency_penalty != 0;
}

SequenceState MakeState(const scheduler::NewSequence& added, size_t groups) {
  SequenceState state;
  state.tokens = added.tokens;
  state.prompt_tokens = added.prompt_tokens;
  state.sampling = added.sampling;
  state.counts_tokens = HasPenalty(added.sampling);
  for (size_t i = 0; state.counts_tokens && i < added.tokens.size(); ++i) {
    state.history.Add(added.tokens[i], i >= static_cast<size_t>(added.prompt_tokens));
  }
  for (const scheduler::LogitBias& bias : added.sampling.logit_bias) {
    state.biases.push_back({.token = bias.token, .bias = bias.bias});
  }
  state.block_tables.resize(groups);
  return state;
}

}  // namespace

void SequenceState::Append(scheduler::TokenId token) {
  tokens.push_back(token);
  if (counts_tokens) history.Add(token, true);
}

kernels::LogitAdjustment SequenceState::Adjustment() const {
  kernels::LogitAdjustment adjustment{.repetition_penalty = sampling.repetition_penalty,
                                      .presence_penalty = sampling.presence_penalty,
                                      .frequency_penalty = sampling.frequency_penalty,
                                      .uses = history.uses(),
                                      .biases = biases,
                                      .suppressed = {}};
  const auto generated = static_cast<int64_t>(tokens.size()) - prompt_tokens;
  if (generated < sampling.min_tokens) adjustment.suppressed = sampling.suppressed;
  return adjustment;
}

absl::Status SequenceTable::CheckTokens(const scheduler::NewSequence& added) const {
  const auto check = [&](const char* what, scheduler::TokenId token) {
    if (token >= 0 && token < vocab_size_) return absl::OkStatus();
    return absl::InternalError(absl::StrCat("sequence ", added.sequence.value(), " has ", what, " ",
                                            token, " outside the vocabulary of ", vocab_size_));
  };
  for (const scheduler::TokenId token : added.tokens) {
    SHOAL_RETURN_IF_ERROR(check("token", token));
  }
  for (const scheduler::LogitBias& bias : added.sampling.logit_bias) {
    SHOAL_RETURN_IF_ERROR(check("biased token", bias.token));
  }
  for (const scheduler::TokenId token : added.sampling.suppressed) {
    SHOAL_RETURN_IF_ERROR(check("suppressed token", token));
  }
  return absl::OkStatus();
}

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
  SHOAL_RETURN_IF_ERROR(CheckTokens(added));
  if (!sequences_.emplace(added.sequence, MakeState(added, pools_.size())).second) {
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
