// SPDX-License-Identifier: Apache-2.0
// ShadowExecutor: executes StepPlans over a shadow of the KV bytes. Each slot of each block records
// which token, at which position, behind which prefix was written last; every read that attention
// would make is compared with what it should find. Its "model" is a hash of the tokens so far, so
// the right output of any request is known without running anything.
#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "scheduler/scheduler.h"

namespace shoal::scheduler {

// The pure model. A prefix is a hash of a namespace and all tokens up to a position.
uint64_t PrefixOfNothing(const std::string& cache_namespace);
uint64_t ExtendPrefix(uint64_t prefix, TokenId token);
TokenId SampleAfter(uint64_t prefix, const SamplingParams& sampling);
float LogprobAfter(uint64_t prefix, TokenId token);

class ShadowExecutor {
 public:
  explicit ShadowExecutor(const SchedulerOptions& options);

  // The namespace of a sequence that a later plan may add (the plan itself does not carry it).
  void Announce(SequenceId id, const std::string& cache_namespace);
  // Executes the next plan, whose results the scheduler has up to step `applied`. An error says
  // what an executor would have computed wrongly.
  absl::StatusOr<StepResult> Execute(const StepPlan& plan, StepNumber applied);
  // Sequences whose state it holds.
  size_t live() const { return sequences_.size(); }

 private:
  struct Slot {
    TokenId token = -1;
    int32_t position = -1;
    uint64_t prefix = 0;
    friend bool operator==(const Slot&, const Slot&) = default;
  };
  struct Origin {  // where a token comes from: 0 when it came with the sequence
    uint64_t step = 0;
    int32_t row = 0;
  };
  struct Live {
    NewSequence added;
    std::vector<TokenId> tokens;
    std::vector<Origin> origins;
    std::vector<uint64_t> prefixes;
    std::vector<std::vector<BlockId>> tables;
    int32_t next = -1;  // position after the latest slice; -1: none yet
  };
  absl::Status Change(const StepPlan& plan);
  absl::Status CheckLogitsRows(const StepPlan& plan) const;
  absl::Status CheckOwners() const;
  absl::Status CheckInput(const Slice& slice, const Live& live, StepNumber applied) const;
  absl::Status Write(const Slice& slice, Live& live, const StepPlan& plan);
  absl::Status Read(const Slice& slice, const Live& live) const;
  SequenceResult Report(const Slice& slice, Live& live, StepNumber step) const;
  int32_t FirstRead(size_t group, int32_t position) const;

  const SchedulerOptions options_;
  uint64_t last_step_ = 0;
  std::map<SequenceId, std::string> namespaces_;
  std::map<SequenceId, Live> sequences_;
  std::vector<std::vector<std::vector<Slot>>> kv_;  // [group][block][slot]
};

}  // namespace shoal::scheduler
