// SPDX-License-Identifier: Apache-2.0
#include <cstring>

#include "base/check.h"
#include "kernels/cpu/float_mode.h"
#include "kernels/cpu/ops/op_counters.h"
#include "kernels/cpu/ops/op_kernels.h"
#include "kernels/cpu/ops/ops.h"

namespace shoal::kernels::cpu {
namespace {

SHOAL_OP_COUNTERS(rms_norm_counters, "rms_norm");
SHOAL_OP_COUNTERS(rope_counters, "rope");
SHOAL_OP_COUNTERS(silu_mul_counters, "silu_mul");
SHOAL_OP_COUNTERS(layer_norm_counters, "layer_norm");
SHOAL_OP_COUNTERS(gelu_mul_counters, "gelu_mul");
SHOAL_OP_COUNTERS(gelu_counters, "gelu");
SHOAL_OP_COUNTERS(softcap_counters, "softcap");
SHOAL_OP_COUNTERS(add_counters, "add");

// Elements that one task should touch, so that its cost outweighs handing it to a thread.
constexpr int64_t kTaskElements = 16384;

// Largest rotated pairs of a head (head_dim up to 512).
constexpr int64_t kMaxPairs = 256;

// Runs body(row) for all rows, in tasks of at least kTaskElements.
template <class Body>
void ForRows(CpuStream& stream, int64_t rows, int64_t row_elements, Body body) {
  if (rows == 0) return;
  const int64_t per_task = (kTaskElements + row_elements - 1) / row_elements;
  const int64_t tasks = (rows + per_task - 1) / per_task;
  auto run = [&](int64_t task, int) {
    const int64_t end = task + 1 == tasks ? rows : (task + 1) * per_task;
    for (int64_t row = task * per_task; row < end; ++row) body(row);
  };
  if (tasks == 1) {
    const ScopedFloatMode mode;
    run(0, 0);
    return;
  }
  stream.pool().ParallelFor(tasks, run);
}

void CheckMatrix(const Tensor& x) {
  SHOAL_CHECK(x.rank == 2);
  SHOAL_CHECK(x.dtype == DType::kF32);
}

}  // namespace

void RmsNorm(CpuStream& stream, const Tensor& x, std::span<const float> weight, float eps,
             const Tensor& out) {
  CheckMatrix(x);
  CheckMatrix(out);
  const int64_t n = x.dim(1);
  SHOAL_CHECK(static_cast<int64_t>(weight.size()) == n);
  SHOAL_CHECK(out.dim(0) == x.dim(0) && out.dim(1) == n);
  rms_norm_counters.Count(stream.isa());
  const OpKernels& kernels = OpKernelsFor(stream.isa());
  ForRows(stream, x.dim(0), n, [&](int64_t row) {
    kernels.rms_norm(x.Row<float>(row), weight.data(), eps, n, out.Row<float>(row));
  });
}

void LayerNorm(CpuStream& stream, const Tensor& x, std::span<const float> weight,
               std::span<const float> bias, float eps, const Tensor& out) {
  CheckMatrix(x);
  CheckMatrix(out);
  const int64_t n = x.dim(1);
  SHOAL_CHECK(static_cast<int64_t>(weight.size()) == n);
  SHOAL_CHECK(bias.empty() || bias.size() == weight.size());
  SHOAL_CHECK(out.dim(0) == x.dim(0) && out.dim(1) == n);
  layer_norm_counters.Count(stream.isa());
  const OpKernels& kernels = OpKernelsFor(stream.isa());
  const float* shift = bias.empty() ? nullptr : bias.data();
  ForRows(stream, x.dim(0), n, [&](int64_t row) {
    kernels.layer_norm(x.Row<float>(row), weight.data(), shift, eps, n, out.Row<float>(row));
  });
}

void HeadRmsNorm(CpuStream& stream, const Tensor& x, std::span<const float> weight, float eps,
                 const Tensor& out) {
  CheckMatrix(x);
  CheckMatrix(out);
  const auto head_dim = static_cast<int64_t>(weight.size());
  SHOAL_CHECK(head_dim > 0 && x.dim(1) % head_dim == 0);
  SHOAL_CHECK(out.dim(0) == x.dim(0) && out.dim(1) == x.dim(1));
  rms_norm_counters.Count(stream.isa());
  const OpKernels& kernels = OpKernelsFor(stream.isa());
  ForRows(stream, x.dim(0), x.dim(1), [&](int64_t row) {
    for (int64_t begin = 0; begin < x.dim(1); begin += head_dim) {
      kernels.rms_norm(x.Row<float>(row) + begin, weight.data(), eps, head_dim,
                       out.Row<float>(row) + begin);
    }
  });
}

void Rope(CpuStream& stream, const RopeTable& table, std::span<const int32_t> positions,
          int64_t head_dim, const Tensor& x) {
  CheckMatrix(x);
  const auto pairs = static_cast<int64_t>(table.inv_freq.size());
  SHOAL_CHECK(pairs <= kMaxPairs && 2 * pairs <= head_dim);
  SHOAL_CHECK(x.dim(1) % head_dim == 0);
  SHOAL_CHECK(static_cast<int64_t>(positions.size()) == x.dim(0));
  if (pairs == 0) return;
  rope_counters.Count(stream.isa());
  const OpKernels& kernels = OpKernelsFor(stream.isa());
  ForRows(stream, x.dim(0), x.dim(1) + 8 * pairs, [&](int64_t row) {
    alignas(64) float cos[kMaxPairs];
    alignas(64) float sin[kMaxPairs];
    kernels.rope_angles(table.inv_freq.data(), pairs,
                        static_cast<double>(positions[static_cast<size_t>(row)]),
                        static_cast<double>(table.magnitude), cos, sin);
    for (int64_t begin = 0; begin < x.dim(1); begin += head_dim) {
      float* head = x.Row<float>(row) + begin;
      if (table.style == RopeTable::Style::kNeox) {
        kernels.rotate_neox(cos, sin, pairs, pairs, head);
      } else {
        kernels.rotate_interleaved(cos, sin, pairs, head);
      }
    }
  });
}

void SiluMul(CpuStream& stream, const Tensor& gate_up, const Tensor& out) {
  CheckMatrix(gate_up);
  CheckMatrix(out);
  const int64_t n = out.dim(1);
  SHOAL_CHECK(gate_up.dim(1) == 2 * n && gate_up.dim(0) == out.dim(0));
  silu_mul_counters.Count(stream.isa());
  const OpKernels& kernels = OpKernelsFor(stream.isa());
  ForRows(stream, out.dim(0), 4 * n, [&](int64_t row) {
    const float* gate = gate_up.Row<float>(row);
    kernels.silu_mul(gate, gate + n, n, out.Row<float>(row));
  });
}

void GeluMul(CpuStream& stream, const Tensor& gate_up, const Tensor& out) {
  CheckMatrix(gate_up);
  CheckMatrix(out);
  const int64_t n = out.dim(1);
  SHOAL_CHECK(gate_up.dim(1) == 2 * n && gate_up.dim(0) == out.dim(0));
  gelu_mul_counters.Count(stream.isa());
  const OpKernels& kernels = OpKernelsFor(stream.isa());
  ForRows(stream, out.dim(0), 4 * n, [&](int64_t row) {
    const float* gate = gate_up.Row<float>(row);
    kernels.gelu_mul(gate, gate + n, n, out.Row<float>(row));
  });
}

void Gelu(CpuStream& stream, const Tensor& x) {
  CheckMatrix(x);
  gelu_counters.Count(stream.isa());
  const OpKernels& kernels = OpKernelsFor(stream.isa());
  ForRows(stream, x.dim(0), 4 * x.dim(1),
          [&](int64_t row) { kernels.gelu(x.dim(1), x.Row<float>(row)); });
}

void Softcap(CpuStream& stream, float cap, const Tensor& x) {
  CheckMatrix(x);
  SHOAL_CHECK(cap > 0);
  softcap_counters.Count(stream.isa());
  const OpKernels& kernels = OpKernelsFor(stream.isa());
  ForRows(stream, x.dim(0), 4 * x.dim(1),
          [&](int64_t row) { kernels.softcap(cap, x.dim(1), x.Row<float>(row)); });
}

void Add(CpuStream& stream, const Tensor& y, const Tensor& x) {
  CheckMatrix(x);
  CheckMatrix(y);
  SHOAL_CHECK(x.dim(0) == y.dim(0) && x.dim(1) == y.dim(1));
  add_counters.Count(stream.isa());
  const OpKernels& kernels = OpKernelsFor(stream.isa());
  ForRows(stream, x.dim(0), x.dim(1),
          [&](int64_t row) { kernels.add(y.Row<float>(row), x.dim(1), x.Row<float>(row)); });
}

void GatherRows(CpuStream& stream, const Tensor& x, std::span<const int32_t> rows,
                const Tensor& out) {
  CheckMatrix(x);
  CheckMatrix(out);
  SHOAL_CHECK(static_cast<int64_t>(rows.size()) == out.dim(0) && x.dim(1) == out.dim(1));
  const auto bytes = static_cast<size_t>(x.dim(1)) * sizeof(float);
  ForRows(stream, out.dim(0), x.dim(1), [&](int64_t row) {
    const int64_t from = rows[static_cast<size_t>(row)];
    SHOAL_CHECK(from >= 0 && from < x.dim(0));
    std::memcpy(out.Row<float>(row), x.Row<float>(from), bytes);
  });
}

}  // namespace shoal::kernels::cpu
