// SPDX-License-Identifier: Apache-2.0
#include "kernels/variant_counts.h"

#include <map>
#include <mutex>
#include <string>
#include <vector>

#include "kernels/backend.h"

namespace shoal::kernels {
namespace {

std::mutex registry_mutex;
VariantCounter* registry_head = nullptr;  // guarded by registry_mutex

}  // namespace

void CountVariant(VariantCounter& counter) {
  if (counter.calls.fetch_add(1, std::memory_order_relaxed) != 0) return;
  const std::lock_guard lock(registry_mutex);
  counter.next = registry_head;
  registry_head = &counter;
}

std::vector<VariantCount> VariantCounts() {
  std::map<std::string, int64_t> sums;
  {
    const std::lock_guard lock(registry_mutex);
    for (const VariantCounter* counter = registry_head; counter != nullptr;
         counter = counter->next) {
      sums[counter->name] += counter->calls.load(std::memory_order_relaxed);
    }
  }
  std::vector<VariantCount> counts;
  counts.reserve(sums.size());
  for (const auto& [name, calls] : sums) counts.push_back({name, calls});
  return counts;
}

}  // namespace shoal::kernels
