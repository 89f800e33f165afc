// SPDX-License-Identifier: Apache-2.0
#include "worker/executor/local_executor.h"

#include <exception>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "base/check.h"
#include "scheduler/types/step_plan_codec.h"

namespace shoal::worker {
namespace {

// The last byte of a message says what it is.
constexpr uint8_t kPlan = 1;
constexpr uint8_t kPing = 2;

}  // namespace

LocalExecutor::LocalExecutor(const RankParts& parts, size_t messages_max)
    : rank_(parts), channel_(parallel::CreateLocalControlChannel(messages_max)) {}

LocalExecutor::~LocalExecutor() {
  channel_->Close();
  if (thread_.joinable()) thread_.join();
}

void LocalExecutor::Start(StepSink& sink) {
  SHOAL_CHECK(!thread_.joinable());
  thread_ = std::thread([this, &sink] { Run(sink); });
}

absl::Status LocalExecutor::Execute(const scheduler::StepPlan& plan) {
  std::vector<uint8_t> message = scheduler::EncodeStepPlan(plan);
  message.push_back(kPlan);
  return channel_->Publish(std::move(message));
}

absl::Status LocalExecutor::Ping() { return channel_->Publish({kPing}); }

void LocalExecutor::Run(StepSink& sink) {
  while (true) {
    absl::StatusOr<std::vector<uint8_t>> message = channel_->Next(absl::InfiniteDuration());
    if (!message.ok()) return;  // closed
    StepReport report = Handle(*std::move(message));
    const bool failed = !report.status.ok();
    sink.OnStep(std::move(report));
    if (failed) return;
  }
}

StepReport LocalExecutor::Handle(std::vector<uint8_t> message) {
  StepReport report;
  const uint8_t kind = message.empty() ? 0 : message.back();
  if (kind == kPing && message.size() == 1) {
    report.self_check = true;
    return report;
  }
  if (kind != kPlan) {
    report.status = absl::InternalError(
        absl::StrCat("control message of ", message.size(), " bytes has unknown kind ", int{kind}));
    return report;
  }
  message.pop_back();
  absl::StatusOr<scheduler::StepPlan> plan = scheduler::DecodeStepPlan(message);
  if (!plan.ok()) {
    report.status = plan.status();
    return report;
  }
  // Libraries below may throw (allocation); a rank that dies must say so instead of ending the
  // process without its sequences being told.
  try {
    absl::StatusOr<scheduler::StepResult> result = rank_.Execute(*plan);
    if (result.ok()) {
      report.result = *std::move(result);
    } else {
      report.status = result.status();
    }
  } catch (const std::exception& error) {
    report.status =
        absl::InternalError(absl::StrCat("step ", plan->step.value(), " threw: ", error.what()));
  }
  return report;
}

}  // namespace shoal::worker
