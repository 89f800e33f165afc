// SPDX-License-Identifier: Apache-2.0
#include "kernels/cpu/cpu_backend.h"

#include <utility>

#include "absl/status/status.h"
#include "absl/strings/str_cat.h"
#include "base/check.h"
#include "kernels/cpu/cpu_stream.h"
#include "kernels/cpu/embedding.h"
#include "kernels/cpu/host_arena.h"
#include "kernels/cpu/matmul/prepared_matrix.h"
#include "kernels/cpu/ops/ops.h"

namespace shoal::kernels::cpu {

CpuBackend::CpuBackend(Isa isa)
    : isa_(isa), attention_(CreateCpuAttentionOps(isa)), sampling_(CreateCpuSamplingOps(isa)) {
  SHOAL_CHECK(IsSupported(isa));
}

std::string CpuBackend::Describe() const { return absl::StrCat("cpu ", Name(isa_)); }

absl::StatusOr<std::unique_ptr<Arena>> CpuBackend::Allocate(std::string name, int64_t bytes) {
  return HostArena::Create(std::move(name), bytes);
}

absl::StatusOr<std::unique_ptr<Stream>> CpuBackend::CreateStream(const StreamOptions& options) {
  if (options.threads < 1 || options.threads > ThreadPool::kMaxThreads) {
    return absl::InvalidArgumentError(absl::StrCat(
        "threads is ", options.threads, "; it must lie in 1..", ThreadPool::kMaxThreads));
  }
  return std::make_unique<CpuStream>(isa_, options.threads);
}

absl::StatusOr<std::unique_ptr<PreparedMatrix>> CpuBackend::PrepareMatrix(
    const MatrixSource& source) {
  return CpuMatrix::Prepare(source);
}

absl::StatusOr<std::unique_ptr<PreparedTable>> CpuBackend::PrepareTable(const WeightView& view) {
  return CpuTable::Prepare(view);
}

int64_t CpuBackend::PreparedBytes(const MatrixSource& source) const {
  return CpuMatrix::PredictBytes(source);
}

int64_t CpuBackend::PreparedTableBytes(const WeightView& view) const {
  return view.rows * RowBytes(view.format, view.cols);
}

}  // namespace shoal::kernels::cpu
