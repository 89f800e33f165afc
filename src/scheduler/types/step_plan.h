// SPDX-License-Identifier: Apache-2.0
// StepPlan: what every rank of a replica executes in one step. A delta: followers keep the block
// tables and sampling parameters of live sequences. Plain values, no pointers.
#pragma once

#include <cstdint>
#include <optional>
#include <vector>

#include "scheduler/types/ids.h"
#include "scheduler/types/request.h"

namespace shoal::scheduler {

// A token that an earlier, not yet applied step will produce: row `row` of its sampled rows.
struct TokenRef {
  StepNumber step;
  int32_t row = 0;
  friend bool operator==(const TokenRef&, const TokenRef&) = default;
};

enum class Logits : uint8_t { kNone, kLast, kAll };

// `count` consecutive tokens of one sequence to run. The input is either the tokens the executor
// already holds for the sequence (its prompt and what was applied), or, for the one token of a
// decode slice whose predecessor is in flight, a TokenRef.
struct Slice {
  SequenceId sequence;
  int32_t first_position = 0;
  int32_t count = 0;
  std::optional<TokenRef> input;  // only with count == 1
  Logits logits = Logits::kNone;
  // Sample from the last row: true for the last prompt chunk and for decode.
  bool sample = false;
  // Index of this slice's sampled token among the sampled rows of the step; -1 when !sample.
  int32_t sample_row = -1;
  friend bool operator==(const Slice&, const Slice&) = default;
};

struct NewSequence {
  SequenceId sequence;
  std::vector<TokenId> tokens;  // all known tokens: prompt and earlier emitted ones
  int32_t prompt_tokens = 0;
  SamplingParams sampling;
  friend bool operator==(const NewSequence&, const NewSequence&) = default;
};

// Blocks appended to a sequence's table of one KV group (empty when the sequence is added). Entry i
// holds positions [i * block_tokens, (i + 1) * block_tokens). Entries wholly before a group's
// window only keep their places: their ids are valid but may belong to others by now, and are never
// read.
struct AppendedBlocks {
  SequenceId sequence;
  int32_t group = 0;
  std::vector<BlockId> blocks;
  friend bool operator==(const AppendedBlocks&, const AppendedBlocks&) = default;
};

// The work of one data-parallel rank and micro-batch.
struct SubPlan {
  int32_t data_rank = 0;
  int32_t micro_batch = 0;
  std::vector<Slice> slices;
  friend bool operator==(const SubPlan&, const SubPlan&) = default;
};

// Order of application: removed, added, appended, then the sub-plans. A preempted sequence is
// removed, and added again (with all its tokens) when it resumes.
struct StepPlan {
  StepNumber step;
  uint64_t digest = 0;  // of everything else here, see StepPlanDigest
  std::vector<SequenceId> removed;
  std::vector<NewSequence> added;
  std::vector<AppendedBlocks> appended;
  std::vector<SubPlan> sub_plans;
  // MoE: which expert placement, dispatcher and size bucket every rank uses this step.
  int32_t placement_version = 0;
  int32_t dispatcher = 0;
  int32_t bucket = 0;

  int64_t tokens() const;  // sum of all slices' counts
  bool empty() const;      // nothing to tell and nothing to run
  friend bool operator==(const StepPlan&, const StepPlan&) = default;
};

uint64_t StepPlanDigest(const StepPlan& plan);

}  // namespace shoal::scheduler
