// SPDX-License-Identifier: Apache-2.0
#include "scheduler/shadow_executor.h"

#include <xxhash.h>

#include <algorithm>
#include <set>

#include "absl/strings/str_cat.h"
#include "base/status.h"

namespace shoal::scheduler {
namespace {

constexpr TokenId kVocabulary = 40;

absl::Status Wrong(const Slice& slice, absl::string_view what) {
  return absl::InternalError(absl::StrCat("slice of sequence ", slice.sequence.value(), " at ",
                                          slice.first_position, "+", slice.count, ": ", what));
}

}  // namespace

uint64_t PrefixOfNothing(const std::string& cache_namespace) {
  return XXH3_64bits(cache_namespace.data(), cache_namespace.size());
}

uint64_t ExtendPrefix(uint64_t prefix, TokenId token) {
  return XXH3_64bits_withSeed(&token, sizeof(token), prefix);
}

TokenId SampleAfter(uint64_t prefix, const SamplingParams& sampling) {
  const uint64_t key[] = {prefix, sampling.seed, sampling.choice};
  return static_cast<TokenId>(XXH3_64bits(key, sizeof(key)) % kVocabulary);
}

float LogprobAfter(uint64_t prefix, TokenId token) {
  return -static_cast<float>(ExtendPrefix(prefix, token) % 1000) / 100.0F;
}

ShadowExecutor::ShadowExecutor(const SchedulerOptions& options) : options_(options) {
  for (const KvGroupSpec& group : options.groups)
    kv_.emplace_back(group.blocks, std::vector<Slot>(options.block_tokens));
}

void ShadowExecutor::Announce(SequenceId id, const std::string& cache_namespace) {
  namespaces_[id] = cache_namespace;
}

int32_t ShadowExecutor::FirstRead(size_t group, int32_t position) const {
  const int32_t window = options_.groups[group].window;
  return window == 0 ? 0 : std::max(0, position - window + 1);
}

absl::Status ShadowExecutor::CheckLogitsRows(const StepPlan& plan) const {
  int64_t rows = 0;
  for (const SubPlan& sub_plan : plan.sub_plans) {
    for (const Slice& slice : sub_plan.slices) {
      if (slice.logits == Logits::kAll) rows += slice.count;
      if (slice.logits == Logits::kLast) ++rows;
    }
  }
  if (options_.max_logits_rows == 0 || rows <= options_.max_logits_rows) return absl::OkStatus();
  return absl::InternalError(absl::StrCat("a step with logits of ", rows, " rows"));
}

absl::StatusOr<StepResult> ShadowExecutor::Execute(const StepPlan& plan, StepNumber applied) {
  if (plan.step.value() != last_step_ + 1)
    return absl::InternalError(absl::StrCat("step ", plan.step.value(), " after ", last_step_));
  if (plan.digest != StepPlanDigest(plan)) return absl::InternalError("the digest is wrong");
  if (plan.tokens() > options_.max_batch_tokens)
    return absl::InternalError(absl::StrCat("a step of ", plan.tokens(), " tokens"));
  SHOAL_RETURN_IF_ERROR(CheckLogitsRows(plan));
  ++last_step_;
  SHOAL_RETURN_IF_ERROR(Change(plan));
  SHOAL_RETURN_IF_ERROR(CheckOwners());
  StepResult result{.step = plan.step, .sequences = {}};
  std::set<SequenceId> seen;
  int32_t rows = 0;
  for (const SubPlan& sub_plan : plan.sub_plans) {
    for (const Slice& slice : sub_plan.slices) {
      const auto found = sequences_.find(slice.sequence);
      if (found == sequences_.end()) return Wrong(slice, "the sequence is not known");
      if (!seen.insert(slice.sequence).second) return Wrong(slice, "a second slice");
      if (slice.sample_row != (slice.sample ? rows++ : -1)) return Wrong(slice, "sample row");
      SHOAL_RETURN_IF_ERROR(CheckInput(slice, found->second, applied));
      SHOAL_RETURN_IF_ERROR(Write(slice, found->second, plan));
    }
  }
  for (const SubPlan& sub_plan : plan.sub_plans) {
    for (const Slice& slice : sub_plan.slices) {
      Live& live = sequences_.at(slice.sequence);
      SHOAL_RETURN_IF_ERROR(Read(slice, live));
      result.sequences.push_back(Report(slice, live, plan.step));
    }
  }
  return result;
}

absl::Status ShadowExecutor::Change(const StepPlan& plan) {
  for (SequenceId id : plan.removed)
    if (sequences_.erase(id) != 1)
      return absl::InternalError(absl::StrCat("removes unknown sequence ", id.value()));
  for (const NewSequence& added : plan.added) {
    Live live{.added = added, .tokens = added.tokens, .origins = {}, .prefixes = {}, .tables = {}};
    live.origins.resize(added.tokens.size());
    live.tables.resize(kv_.size());
    uint64_t prefix = PrefixOfNothing(namespaces_.at(added.sequence));
    for (TokenId token : added.tokens)
      live.prefixes.push_back(prefix = ExtendPrefix(prefix, token));
    if (!sequences_.emplace(added.sequence, std::move(live)).second)
      return absl::InternalError(absl::StrCat("adds sequence ", added.sequence.value(), " twice"));
  }
  for (const AppendedBlocks& appended : plan.appended) {
    const auto found = sequences_.find(appended.sequence);
    if (found == sequences_.end()) return absl::InternalError("appends to an unknown sequence");
    if (static_cast<size_t>(appended.group) >= kv_.size()) return absl::InternalError("group");
    std::vector<BlockId>& table = found->second.tables[appended.group];
    for (BlockId block : appended.blocks) {
      if (block < 0 || static_cast<size_t>(block) >= kv_[appended.group].size())
        return absl::InternalError(absl::StrCat("block ", block, " is outside the pool"));
      table.push_back(block);
    }
  }
  return absl::OkStatus();
}

// A block that a sequence still reads holds the same for everyone who reads it.
absl::Status ShadowExecutor::CheckOwners() const {
  for (size_t group = 0; group < kv_.size(); ++group) {
    std::map<BlockId, std::pair<size_t, uint64_t>> holds;  // index in the table, prefix
    for (const auto& [id, live] : sequences_) {
      if (live.next < 0) continue;  // its first slice shows whether what it starts from is right
      const auto first = static_cast<size_t>(FirstRead(group, live.next) / options_.block_tokens);
      for (size_t i = first; i < live.tables[group].size(); ++i) {
        const size_t end = (i + 1) * options_.block_tokens;
        // A block that is not complete is still written, so it is nobody else's.
        const bool complete = end <= static_cast<size_t>(live.next);
        const std::pair content(i, complete ? live.prefixes[end - 1] : id.value());
        const auto [place, fresh] = holds.try_emplace(live.tables[group][i], content);
        if (!fresh && place->second != content)
          return absl::InternalError(absl::StrCat("group ", group, ": block ",
                                                  live.tables[group][i], " is shared wrongly"));
      }
    }
  }
  return absl::OkStatus();
}

absl::Status ShadowExecutor::CheckInput(const Slice& slice, const Live& live,
                                        StepNumber applied) const {
  const int32_t end = slice.first_position + slice.count;
  if (slice.count < 1) return Wrong(slice, "no tokens");
  if (live.next >= 0 && slice.first_position != live.next) return Wrong(slice, "leaves a gap");
  if (end > static_cast<int32_t>(live.tokens.size())) return Wrong(slice, "tokens nobody knows");
  if (slice.sample && end != static_cast<int32_t>(live.tokens.size()))
    return Wrong(slice, "samples before the last token");
  if (slice.sample && slice.logits == Logits::kNone) return Wrong(slice, "samples without logits");
  if (slice.input.has_value()) {
    const Origin& origin = live.origins[slice.first_position];
    if (slice.count != 1) return Wrong(slice, "a reference for several tokens");
    if (slice.input->step <= applied) return Wrong(slice, "refers to an applied step");
    if (origin.step != slice.input->step.value() || origin.row != slice.input->row)
      return Wrong(slice, "refers to another row");
    return absl::OkStatus();
  }
  for (int32_t p = slice.first_position; p < end; ++p)
    if (live.origins[p].step > applied.value()) return Wrong(slice, "its token is not applied");
  return absl::OkStatus();
}

absl::Status ShadowExecutor::Write(const Slice& slice, Live& live, const StepPlan& plan) {
  const int32_t end = slice.first_position + slice.count;
  for (size_t group = 0; group < kv_.size(); ++group) {
    const std::vector<BlockId>& table = live.tables[group];
    for (int32_t p = slice.first_position; p < end; ++p) {
      const auto index = static_cast<size_t>(p / options_.block_tokens);
      if (index >= table.size()) return Wrong(slice, "its block table is too short");
      for (const auto& [id, other] : sequences_) {
        if (id == slice.sequence) continue;
        const auto first = FirstRead(group, std::max(other.next, 0)) / options_.block_tokens;
        const auto& blocks = other.tables[group];
        if (first < static_cast<int32_t>(blocks.size()) &&
            std::find(blocks.begin() + first, blocks.end(), table[index]) != blocks.end() &&
            other.next >= 0)
          return Wrong(slice,
                       absl::StrCat("writes block ", table[index], " of sequence ", id.value()));
      }
      kv_[group][table[index]][p % options_.block_tokens] = {
          .token = live.tokens[p], .position = p, .prefix = live.prefixes[p]};
    }
  }
  live.next = end;
  return absl::OkStatus();
}

absl::Status ShadowExecutor::Read(const Slice& slice, const Live& live) const {
  const int32_t end = slice.first_position + slice.count;
  for (size_t group = 0; group < kv_.size(); ++group) {
    for (int32_t p = FirstRead(group, slice.first_position); p < end; ++p) {
      const BlockId block = live.tables[group][p / options_.block_tokens];
      const Slot& slot = kv_[group][block][p % options_.block_tokens];
      const Slot right{.token = live.tokens[p], .position = p, .prefix = live.prefixes[p]};
      if (slot == right) continue;
      return Wrong(slice, absl::StrCat("reads token ", slot.token, " of position ", slot.position,
                                       " from block ", block, " of group ", group,
                                       " instead of token ", right.token, " of position ", p));
    }
  }
  return absl::OkStatus();
}

SequenceResult ShadowExecutor::Report(const Slice& slice, Live& live, StepNumber step) const {
  SequenceResult result{.sequence = slice.sequence, .tokens = {}, .prompt_first = 0, .prompt = {}};
  const int32_t end = slice.first_position + slice.count;
  if (slice.logits == Logits::kAll) {
    result.prompt_first = slice.first_position + 1;
    for (int32_t p = slice.first_position; p < end && p + 1 < live.added.prompt_tokens; ++p) {
      TokenOutput output;
      output.token = live.tokens[p + 1];
      output.has_logprob = true;
      output.logprob = LogprobAfter(live.prefixes[p], output.token);
      result.prompt.push_back(output);
    }
  }
  if (slice.sample) {
    TokenOutput output;
    output.token = SampleAfter(live.prefixes[end - 1], live.added.sampling);
    result.tokens.push_back(output);
    live.tokens.push_back(output.token);
    live.origins.push_back({.step = step.value(), .row = slice.sample_row});
    live.prefixes.push_back(ExtendPrefix(live.prefixes.back(), output.token));
  }
  return result;
}

}  // namespace shoal::scheduler
