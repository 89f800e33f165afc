// SPDX-License-Identifier: Apache-2.0
// Host memory as an Arena; both host backends use it.
#pragma once

#include <memory>
#include <string>
#include <utility>

#include "absl/status/statusor.h"
#include "kernels/backend.h"
#include "kernels/cpu/aligned_buffer.h"

namespace shoal::kernels::cpu {

class HostArena final : public Arena {
 public:
  // InvalidArgument for a negative size; ResourceExhausted, with name and size, without memory.
  static absl::StatusOr<std::unique_ptr<Arena>> Create(std::string name, int64_t bytes);

  HostArena(std::string name, AlignedBuffer buffer)
      : name_(std::move(name)), buffer_(std::move(buffer)) {}
  uint8_t* data() const override { return buffer_.data(); }
  int64_t bytes() const override { return buffer_.bytes(); }
  const std::string& name() const override { return name_; }

 private:
  std::string name_;
  AlignedBuffer buffer_;
};

}  // namespace shoal::kernels::cpu
