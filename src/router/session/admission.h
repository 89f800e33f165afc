// SPDX-License-Identifier: Apache-2.0
// Admission: how many requests the router holds at once, counted before their bodies are parsed.
#pragma once

#include <atomic>
#include <cstdint>
#include <memory>
#include <utility>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "router/api_error.h"

namespace shoal::router {

class Admission;

// One admitted request; gives its place back when destroyed.
class AdmissionSlot {
 public:
  AdmissionSlot() = default;
  AdmissionSlot(AdmissionSlot&& other) noexcept
      : admission_(std::exchange(other.admission_, nullptr)) {}
  AdmissionSlot& operator=(AdmissionSlot&& other) noexcept;
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
  absl::StatusOr<AdmissionSlot> TryAdmit() {
    absl::Status status = Check();
    if (!status.ok()) return status;
    if (held_.fetch_add(1) >= max_) {
      held_.fetch_sub(1);
      return Full();
    }
    return AdmissionSlot(this);
  }
  // What TryAdmit would say now, without taking a place.
  absl::Status Check() const {
    if (closed_.load()) return absl::UnavailableError("the router is shutting down");
    return held_.load() >= max_ ? Full() : absl::OkStatus();
  }
  void Close() { closed_.store(true); }
  bool closed() const { return closed_.load(); }
  int64_t held() const { return held_.load(); }

 private:
  friend class AdmissionSlot;
  static absl::Status Full() {
    return ApiError(absl::StatusCode::kResourceExhausted,
                    "the router is full; try again in a moment", "", "overloaded");
  }
  const int64_t max_;
  std::atomic<int64_t> held_{0};
  std::atomic<bool> closed_{false};
};

inline AdmissionSlot& AdmissionSlot::operator=(AdmissionSlot&& other) noexcept {
  if (this != &other) {
    if (admission_ != nullptr) admission_->held_.fetch_sub(1);
    admission_ = std::exchange(other.admission_, nullptr);
  }
  return *this;
}

inline AdmissionSlot::~AdmissionSlot() {
  if (admission_ != nullptr) admission_->held_.fetch_sub(1);
}

}  // namespace shoal::router
