// SPDX-License-Identifier: Apache-2.0
// Speed of the matmul op on the shapes of a 135 M parameter model. Weights rotate over copies
// larger than the caches, as the layers of a model do. items_per_second is 2 * M * N * K
// operations; bytes_per_second is weights read.
//   matmul_bench --benchmark_filter='q4_1/amx/gate_up/M:512'
#include <benchmark/benchmark.h>

#include <string>
#include <vector>

#include "kernels/cpu/cpu_stream.h"
#include "kernels/cpu/isa.h"
#include "kernels/cpu/matmul/matmul.h"

namespace shoal::kernels {
namespace {

struct Shape {
  const char* name;
  int64_t outputs, inputs, leaves;
};
constexpr Shape kShapes[] = {{"qkv", 960, 576, 1},
                             {"o", 576, 576, 9},
                             {"gate_up", 3072, 576, 1},
                             {"down", 576, 1536, 24},
                             {"head", 49152, 576, 1}};

constexpr int64_t kRotatedBytes = 48 << 20;

// A matrix of pseudo-random bytes with scales around 2^-7.
std::vector<uint8_t> FileBytes(WeightFormat format, const Shape& shape) {
  const int64_t group = GroupSize(format);
  const int64_t bytes = RowBytes(format, group);
  std::vector<uint8_t> file(static_cast<size_t>(shape.outputs * RowBytes(format, shape.inputs)));
  uint32_t state = 1;
  for (size_t i = 0; i < file.size(); ++i) {
    state = state * 1664525 + 1013904223;
    file[i] = static_cast<uint8_t>(state >> 24);
    const auto at = static_cast<int64_t>(i) % bytes;
    const bool high_byte_of_half = group > 1 ? at == 1 || at == 3 : at % 2 == 1;
    if (high_byte_of_half && format != WeightFormat::kQ8_0) file[i] = 0x20 | (file[i] & 0x83);
    if (format == WeightFormat::kQ8_0 && at == 1) file[i] = 0x20;
  }
  return file;
}

void RunMatMul(benchmark::State& state, WeightFormat format, cpu::Isa isa, const Shape& shape,
               int threads) {
  const int64_t rows = state.range(0);
  const std::vector<uint8_t> file = FileBytes(format, shape);
  MatrixSource source{.name = shape.name,
                      .parts = {{format, shape.outputs, shape.inputs, file.data()}},
                      .bias = {},
                      .leaves = MakeLeafPlan(shape.inputs, 32, shape.leaves),
                      .activation = Activation::kI8};
  std::vector<std::unique_ptr<cpu::CpuMatrix>> copies;
  int64_t bytes = 0;
  do {
    auto matrix = cpu::CpuMatrix::Prepare(source);
    if (!matrix.ok()) return state.SkipWithError(matrix.status().ToString().c_str());
    bytes += (*matrix)->bytes();
    copies.push_back(std::move(*matrix));
  } while (bytes < kRotatedBytes);

  cpu::CpuStream stream(isa, threads);
  std::vector<float> in(static_cast<size_t>(rows * shape.inputs));
  for (size_t i = 0; i < in.size(); ++i) in[i] = static_cast<float>(i % 97) * 0.01F - 0.5F;
  std::vector<float> out(static_cast<size_t>(rows * shape.outputs));
  const Tensor x(in.data(), DType::kF32, {rows, shape.inputs});
  const Tensor y(out.data(), DType::kF32, {rows, shape.outputs});
  size_t next = 0;
  for (auto _ : state) {
    cpu::MatMul(stream, x, *copies[next], y, cpu::MatMulResult::kReplace);
    next = (next + 1) % copies.size();
  }
  state.SetItemsProcessed(state.iterations() * 2 * rows * shape.outputs * shape.inputs);
  state.SetBytesProcessed(state.iterations() * copies[0]->bytes());
}

void RegisterAll() {
  for (const WeightFormat format :
       {WeightFormat::kQ4_1, WeightFormat::kQ4_0, WeightFormat::kQ8_0, WeightFormat::kQ5_0,
        WeightFormat::kQ5_1, WeightFormat::kF16, WeightFormat::kF32}) {
    for (const cpu::Isa isa : cpu::SupportedIsas()) {
      if (isa == cpu::Isa::kPortable) continue;
      for (const Shape& shape : kShapes) {
        for (const int threads : {1, 2}) {
          const std::string name = std::string(Name(format)) + "/" + cpu::Name(isa) + "/" +
                                   shape.name + "/threads:" + std::to_string(threads);
          benchmark::RegisterBenchmark(name.c_str(), RunMatMul, format, isa, shape, threads)
              ->ArgName("M")
              ->Arg(1)
              ->Arg(4)
              ->Arg(16)
              ->Arg(32)
              ->Arg(128)
              ->Arg(512)
              ->UseRealTime();
        }
      }
    }
  }
}

}  // namespace
}  // namespace shoal::kernels

int main(int argc, char** argv) {
  shoal::kernels::RegisterAll();
  benchmark::Initialize(&argc, argv);
  benchmark::RunSpecifiedBenchmarks();
  return 0;
}
