// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <limits>
#include <memory>
#include <utility>

#include "absl/strings/str_cat.h"
#include "base/status.h"
#include "scheduler/scheduler_impl.h"

namespace shoal::scheduler {
namespace {

absl::Status RequirePositive(absl::string_view name, int64_t value) {
  if (value >= 1) return absl::OkStatus();
  return absl::InvalidArgumentError(
      absl::StrCat("scheduler option ", name, " is ", value, ": it must be at least 1"));
}

absl::Status ValidateGroup(const SchedulerOptions& options, size_t index) {
  const KvGroupSpec& group = options.groups[index];
  const std::string name = absl::StrCat("groups[", index, "]");
  SHOAL_RETURN_IF_ERROR(RequirePositive(absl::StrCat(name, ".blocks"), group.blocks));
  if (group.blocks > std::numeric_limits<BlockId>::max())
    return absl::InvalidArgumentError(absl::StrCat("scheduler option ", name, ".blocks is ",
                                                   group.blocks, ": it must be below 2^31"));
  if (group.window < 0)
    return absl::InvalidArgumentError(absl::StrCat("scheduler option ", name, ".window is ",
                                                   group.window, ": it must not be negative"));
  if (group.window == 0) return absl::OkStatus();
  // A window of W tokens touches at most this many blocks.
  const int64_t blocks_min =
      (int64_t{group.window} - 1 + options.block_tokens - 1) / options.block_tokens + 1;
  if (group.blocks < blocks_min)
    return absl::InvalidArgumentError(absl::StrCat(
        "scheduler option ", name, ".blocks is ", group.blocks, ": a window of ", group.window,
        " tokens needs at least ", blocks_min, " blocks of ", options.block_tokens, " tokens"));
  return absl::OkStatus();
}

}  // namespace

absl::Status ValidateOptions(const SchedulerOptions& options) {
  SHOAL_RETURN_IF_ERROR(RequirePositive("block_tokens", options.block_tokens));
  SHOAL_RETURN_IF_ERROR(RequirePositive("max_context", options.max_context));
  SHOAL_RETURN_IF_ERROR(RequirePositive("max_batch_tokens", options.max_batch_tokens));
  SHOAL_RETURN_IF_ERROR(RequirePositive("max_sequences", options.max_sequences));
  SHOAL_RETURN_IF_ERROR(RequirePositive("max_waiting", options.max_waiting));
  SHOAL_RETURN_IF_ERROR(RequirePositive("plans_in_flight", options.plans_in_flight));
  const int32_t rows_min = std::min(options.max_sequences, options.max_batch_tokens);
  if (options.max_logits_rows != 0 && options.max_logits_rows < rows_min)
    return absl::InvalidArgumentError(
        absl::StrCat("scheduler option max_logits_rows is ", options.max_logits_rows, ", but ",
                     rows_min, " sequences may run at once and each samples from one row"));
  if (options.priority_step <= absl::ZeroDuration() ||
      options.priority_step == absl::InfiniteDuration())
    return absl::InvalidArgumentError("scheduler option priority_step must be positive and finite");
  if (options.groups.empty())
    return absl::InvalidArgumentError("scheduler option groups is empty: a model has at least one");
  for (size_t i = 0; i < options.groups.size(); ++i)
    SHOAL_RETURN_IF_ERROR(ValidateGroup(options, i));
  return absl::OkStatus();
}

absl::StatusOr<std::unique_ptr<Scheduler>> CreateScheduler(SchedulerOptions options) {
  SHOAL_RETURN_IF_ERROR(ValidateOptions(options));
  return std::make_unique<SchedulerImpl>(std::move(options));
}

}  // namespace shoal::scheduler
