// SPDX-License-Identifier: Apache-2.0
// Admission: how many requests the router holds at once, counted before their bodies are parsed.
#pragma once

#include <cstdint>
#include <utility>

#include "absl/base/thread_annotations.h"
#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/time/time.h"
#include "base/mutex.h"

namespace shoal::router {

class Admission;

// One admitted request; gives its place back when destroyed.
class AdmissionSlot {
 public:
  AdmissionSlot() = default;
  AdmissionSlot(AdmissionSlot&& other) noexcept
      : admission_(std::exchange(other.admission_, nullptr)) {}
  AdmissionSlot& operator=(AdmissionSlot&& other) noexcept {
    std::swap(admission_, other.admission_);
    return *this;
  }
  ~AdmissionSlot();

 private:
  friend class Admission;
  explicit AdmissionSlot(Admission* admission) : admission_(admission) {}
  Admission* admission_ = nullptr;
};

// Thread-safe; outlives its slots.
class Admission {
 public:
  explicit Admission(int64_t max) : max_(max) {}
  // RESOURCE_EXHAUSTED when full, UNAVAILABLE after Close.
  absl::StatusOr<AdmissionSlot> TryAdmit();
  // What TryAdmit would say now, without taking a place.
  absl::Status Check() const;
  void Close();
  bool closed() const;
  int64_t held() const;
  // Whether all slots are back, waiting until `timeout`.
  bool AwaitEmpty(absl::Duration timeout) const;

 private:
  friend class AdmissionSlot;
  absl::Status CheckLocked() const ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);
  bool Empty() const ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_) { return held_ == 0; }
  void Release();

  const int64_t max_;
  mutable Mutex mutex_;
  int64_t held_ ABSL_GUARDED_BY(mutex_) = 0;
  bool closed_ ABSL_GUARDED_BY(mutex_) = false;
};

}  // namespace shoal::router
