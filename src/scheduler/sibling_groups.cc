// SPDX-License-Identifier: Apache-2.0
#include "scheduler/sibling_groups.h"

#include "base/check.h"

namespace shoal::scheduler {

bool SiblingGroups::Join(Sequence& sequence) {
  const uint64_t key = sequence.request.group_key;
  if (key == 0) return false;
  Group& group = groups_[key];
  ++group.members;
  if (group.cached) return false;
  if (!group.first.has_value()) {
    group.first = sequence.request.id;
    return false;
  }
  const bool inserted = group.parked.insert(&sequence).second;
  SHOAL_CHECK(inserted);
  ++parked_;
  return true;
}

std::vector<Sequence*> SiblingGroups::Cached(const Sequence& sequence) {
  const auto found = groups_.find(sequence.request.group_key);
  if (found == groups_.end()) return {};
  Group& group = found->second;
  group.cached = true;
  std::vector<Sequence*> freed(group.parked.begin(), group.parked.end());
  parked_ -= static_cast<int64_t>(freed.size());
  SHOAL_CHECK(parked_ >= 0);
  group.parked.clear();
  return freed;
}

std::vector<Sequence*> SiblingGroups::Left(Sequence& sequence) {
  const auto found = groups_.find(sequence.request.group_key);
  if (found == groups_.end()) return {};
  Group& group = found->second;
  SHOAL_CHECK(group.members > 0);
  if (group.parked.erase(&sequence) == 1) --parked_;
  if (--group.members == 0) {
    SHOAL_CHECK(group.parked.empty());
    groups_.erase(found);
    return {};
  }
  if (group.cached || group.first != sequence.request.id) return {};
  group.first.reset();
  if (group.parked.empty()) return {};
  Sequence* const next = *group.parked.begin();
  group.parked.erase(group.parked.begin());
  --parked_;
  group.first = next->request.id;
  return {next};
}

}  // namespace shoal::scheduler
