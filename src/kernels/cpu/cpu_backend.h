// SPDX-License-Identifier: Apache-2.0
// The exact CPU backend: equal bits on every instruction set and thread count.
#pragma once

#include <memory>
#include <string>

#include "kernels/backend.h"
#include "kernels/cpu/dense_ops.h"
#include "kernels/cpu/isa.h"

namespace shoal::kernels::cpu {

class CpuBackend final : public Backend {
 public:
  // `isa` must be supported by this machine.
  explicit CpuBackend(Isa isa);

  std::string Describe() const override;
  absl::StatusOr<std::unique_ptr<Arena>> Allocate(std::string name, int64_t bytes) override;
  absl::StatusOr<std::unique_ptr<Stream>> CreateStream(const StreamOptions& options) override;
  absl::StatusOr<std::unique_ptr<PreparedMatrix>> PrepareMatrix(
      const MatrixSource& source) override;
  absl::StatusOr<std::unique_ptr<PreparedTable>> PrepareTable(const WeightView& view) override;
  int64_t PreparedBytes(const MatrixSource& source) const override;
  int64_t PreparedTableBytes(const WeightView& view) const override;

  DenseOps& dense() override { return dense_; }
  AttentionOps& attention() override { return *attention_; }
  SamplingOps& sampling() override { return *sampling_; }

 private:
  const Isa isa_;
  CpuDenseOps dense_;
  const std::unique_ptr<AttentionOps> attention_;
  const std::unique_ptr<SamplingOps> sampling_;
};

}  // namespace shoal::kernels::cpu
