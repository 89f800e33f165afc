// SPDX-License-Identifier: Apache-2.0
#include "worker/memory_check.h"

#include <algorithm>
#include <fstream>
#include <limits>
#include <optional>

#include "absl/strings/str_cat.h"

namespace shoal::worker {
namespace {

constexpr int64_t kUnlimited = std::numeric_limits<int64_t>::max();

std::optional<int64_t> ReadNumber(const char* path) {
  std::ifstream file(path);
  int64_t value = 0;
  if (!(file >> value) || value < 0) return std::nullopt;  // "max" is no number
  return value;
}

// The value of "name 123" or "name: 123 kB" in a file of such lines, as it is written.
std::optional<int64_t> ReadField(const char* path, const std::string& name) {
  std::ifstream file(path);
  std::string word;
  while (file >> word) {
    int64_t value = 0;
    if (word == name && (file >> value)) return value;
  }
  return std::nullopt;
}

int64_t ControlGroupAvailable() {
  struct Files {
    const char* limit;
    const char* used;
    const char* stat;
    const char* reclaimable;
  };
  constexpr Files kVersions[] = {
      {"/sys/fs/cgroup/memory.max", "/sys/fs/cgroup/memory.current", "/sys/fs/cgroup/memory.stat",
       "inactive_file"},
      {"/sys/fs/cgroup/memory/memory.limit_in_bytes", "/sys/fs/cgroup/memory/memory.usage_in_bytes",
       "/sys/fs/cgroup/memory/memory.stat", "total_inactive_file"}};
  for (const Files& files : kVersions) {
    const std::optional<int64_t> limit = ReadNumber(files.limit);
    const std::optional<int64_t> used = ReadNumber(files.used);
    if (!limit.has_value() || !used.has_value()) continue;
    const int64_t reclaimable = ReadField(files.stat, files.reclaimable).value_or(0);
    return std::max<int64_t>(*limit - *used + std::min(reclaimable, *used), 1);
  }
  return kUnlimited;
}

std::string Mebibytes(int64_t bytes) { return absl::StrCat((bytes + (1 << 19)) >> 20, " MiB"); }

}  // namespace

int64_t AvailableMemoryBytes() {
  int64_t available = ControlGroupAvailable();
  if (const auto kilobytes = ReadField("/proc/meminfo", "MemAvailable:")) {
    available = std::min(available, *kilobytes * 1024);
  }
  return available == kUnlimited ? 0 : available;
}

absl::Status CheckMemory(const std::vector<std::pair<std::string, int64_t>>& uses,
                         int64_t available) {
  int64_t total = 0;
  std::string sum;
  for (const auto& [name, bytes] : uses) {
    total += bytes;
    absl::StrAppend(&sum, sum.empty() ? "" : " + ", name, " ", Mebibytes(bytes));
  }
  if (available == 0 || total <= available) return absl::OkStatus();
  return absl::ResourceExhaustedError(absl::StrCat(
      "the worker needs ", sum, " = ", Mebibytes(total), ", but only ", Mebibytes(available),
      " are available here; lower engine.kv.memory, engine.max_batch_tokens or replicas.count"));
}

}  // namespace shoal::worker
