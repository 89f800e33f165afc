// SPDX-License-Identifier: Apache-2.0
#include "base/check.h"
#include "kernels/cpu/ops/op_counters.h"
#include "kernels/cpu/ops/ops.h"
#include "kernels/cpu/ops/sampler.h"

namespace shoal::kernels::cpu {
namespace {

SHOAL_OP_COUNTERS(sample_counters, "sample");

class CpuSamplingOps final : public SamplingOps {
 public:
  explicit CpuSamplingOps(Isa isa) : isa_(isa), kernels_(OpKernelsFor(isa)) {}

  std::vector<SampledToken> Sample(Stream& stream, const Tensor& logits,
                                   std::span<const SampleRow> rows) override {
    SHOAL_CHECK(logits.rank == 2);
    SHOAL_CHECK(logits.dtype == DType::kF32);
    sample_counters.Count(isa_);
    CpuStream& cpu = CpuStream::From(stream);
    std::vector<SampledToken> results(rows.size());
    cpu.pool().ParallelFor(static_cast<int64_t>(rows.size()), [&](int64_t task, int thread) {
      const SampleRow& row = rows[static_cast<size_t>(task)];
      SHOAL_CHECK(row.logits_row >= 0 && row.logits_row < logits.dim(0));
      results[static_cast<size_t>(task)] =
          SampleLogits(kernels_, logits.Row<float>(row.logits_row), logits.dim(1), row,
                       cpu.thread_scratch(thread));
    });
    return results;
  }

 private:
  const Isa isa_;
  const OpKernels& kernels_;
};

}  // namespace

std::unique_ptr<SamplingOps> CreateCpuSamplingOps(Isa isa) {
  return std::make_unique<CpuSamplingOps>(isa);
}

}  // namespace shoal::kernels::cpu
