// SPDX-License-Identifier: Apache-2.0
// SiblingGroups: lets the first of several requests with one prompt (n > 1) compute it, and parks
// the others until its full prompt blocks can be reused. When the first one ends before that, the
// next in rank takes its place, so a group never waits for nobody. Not thread-safe.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <set>
#include <vector>

#include "scheduler/sequence.h"

namespace shoal::scheduler {

class SiblingGroups {
 public:
  // True when the sequence must be parked until Cached or Left hands it back. A zero key never is.
  bool Join(Sequence& sequence);
  // The sequence's full prompt blocks are reusable: returns all parked siblings, in rank order.
  std::vector<Sequence*> Cached(const Sequence& sequence);
  // The sequence ended; it may have been parked. Returns the sibling to wait in its place (none or
  // one).
  std::vector<Sequence*> Left(Sequence& sequence);
  int64_t parked() const { return parked_; }
  bool empty() const { return groups_.empty(); }

 private:
  struct ByRank {
    bool operator()(const Sequence* a, const Sequence* b) const { return a->rank < b->rank; }
  };
  struct Group {
    int64_t members = 0;
    std::optional<SequenceId> first;  // who computes the prompt
    bool cached = false;              // nobody waits any more
    std::set<Sequence*, ByRank> parked;
  };
  std::map<uint64_t, Group> groups_;
  int64_t parked_ = 0;
};

}  // namespace shoal::scheduler
