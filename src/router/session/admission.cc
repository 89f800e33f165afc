// SPDX-License-Identifier: Apache-2.0
#include "router/session/admission.h"

#include "base/mutex.h"
#include "router/api_error.h"

namespace shoal::router {

AdmissionSlot::~AdmissionSlot() {
  if (admission_ != nullptr) admission_->Release();
}

absl::StatusOr<AdmissionSlot> Admission::TryAdmit() {
  MutexLock lock(&mutex_);
  absl::Status status = CheckLocked();
  if (!status.ok()) return status;
  ++held_;
  return AdmissionSlot(this);
}

absl::Status Admission::CheckLocked() const {
  if (closed_) {
    return ApiError(absl::StatusCode::kUnavailable, "the router is shutting down", "",
                    "shutting_down");
  }
  if (held_ < max_) return absl::OkStatus();
  return ApiError(absl::StatusCode::kResourceExhausted, "the router is full; try again in a moment",
                  "", "overloaded");
}

absl::Status Admission::Check() const {
  MutexLock lock(&mutex_);
  return CheckLocked();
}

void Admission::Close() {
  MutexLock lock(&mutex_);
  closed_ = true;
}

bool Admission::closed() const {
  MutexLock lock(&mutex_);
  return closed_;
}

int64_t Admission::held() const {
  MutexLock lock(&mutex_);
  return held_;
}

bool Admission::AwaitEmpty(absl::Duration timeout) const {
  MutexLock lock(&mutex_);
  return mutex_.AwaitWithTimeout(absl::Condition(this, &Admission::Empty), timeout);
}

void Admission::Release() {
  MutexLock lock(&mutex_);
  --held_;
}

}  // namespace shoal::router
