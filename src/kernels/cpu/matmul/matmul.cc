// SPDX-License-Identifier: Apache-2.0
#include "kernels/cpu/matmul/matmul.h"

#include <algorithm>
#include <cstring>
#include <vector>

#include "base/check.h"
#include "kernels/cpu/float_mode.h"
#include "kernels/cpu/matmul/layout.h"
#include "kernels/variant_counts.h"

namespace shoal::kernels::cpu {
namespace {

// Batches of more rows go to AMX: below, unpacking and padding cost more than they save.
constexpr int64_t kAmxMinRows = 25;
// A remainder of a batch is padded to a whole AMX panel from this size on.
constexpr int64_t kAmxMinRemainder = 9;
// Below this many elements one thread packs the panels: waking the others takes longer.
constexpr int64_t kSerialPackElements = 16384;
// Pieces of work for each thread: enough to even out, few enough to cost nothing.
constexpr int64_t kTasksPerThread = 8;

#define SHOAL_FORMAT_COUNTERS(activation, isa)             \
  {                                                        \
    VariantCounter("matmul f32 " activation " " isa),      \
        VariantCounter("matmul f16 " activation " " isa),  \
        VariantCounter("matmul bf16 " activation " " isa), \
        VariantCounter("matmul q8_0 " activation " " isa), \
        VariantCounter("matmul q4_0 " activation " " isa), \
        VariantCounter("matmul q4_1 " activation " " isa), \
        VariantCounter("matmul q5_0 " activation " " isa), \
        VariantCounter("matmul q5_1 " activation " " isa), \
        VariantCounter("matmul q6_k " activation " " isa)  \
  }
VariantCounter float32_counters[][kTileFormats] = {SHOAL_FORMAT_COUNTERS("f32", "portable"),
                                                   SHOAL_FORMAT_COUNTERS("f32", "avx2"),
                                                   SHOAL_FORMAT_COUNTERS("f32", "avx512")};
VariantCounter int8_counters[][kTileFormats] = {
    SHOAL_FORMAT_COUNTERS("i8", "portable"), SHOAL_FORMAT_COUNTERS("i8", "avx2"),
    SHOAL_FORMAT_COUNTERS("i8", "avx512"), SHOAL_FORMAT_COUNTERS("i8", "amx")};
#undef SHOAL_FORMAT_COUNTERS

const MatMulKernels& KernelsOf(Isa isa) {
  switch (isa) {
    case Isa::kPortable:
      return portable::kMatMulKernels;
    case Isa::kAvx2:
      return avx2::kMatMulKernels;
    case Isa::kAvx512:
    case Isa::kAmx:
      return avx512::kMatMulKernels;
  }
  return portable::kMatMulKernels;
}

// What activations are packed as, see layout.h.
enum Packing { kFloat32, kInt8By32, kInt8By16, kPackings };

Packing PackingOf(const PreparedPart& part) {
  if (part.activation == Activation::kF32) return kFloat32;
  return StepColumns(part.format) == 16 ? kInt8By16 : kInt8By32;
}

// The batch as one kind of kernel wants it.
struct PackedInput {
  std::vector<Panel> panels;
  int64_t amx_panels = 0;  // the first ones
};

int64_t PanelBytes(Packing packing, int64_t cols, int64_t height) {
  int64_t bytes = cols * height * static_cast<int64_t>(sizeof(float));
  if (packing != kFloat32) {
    const int64_t columns = packing == kInt8By16 ? 16 : 32;
    bytes = cols / columns * PanelGroupBytes(columns, height);
  }
  return (bytes + 63) / 64 * 64;
}

// Cuts `rows` into panels of at most `max_height` rows, 16 for AMX.
PackedInput CutIntoPanels(int64_t rows, int64_t max_height, bool amx) {
  PackedInput input;
  for (int64_t row = 0; row < rows;) {
    const int64_t left = rows - row;
    int64_t height = 1;
    if (amx && rows >= kAmxMinRows && left >= kAmxMinRemainder) {
      height = kAmxHeight;
      ++input.amx_panels;
    } else {
      while (height < max_height && height < left) height *= 2;
    }
    const int64_t count = std::min(left, height);
    input.panels.push_back({.first_row = row, .rows = count, .height = height});
    row += count;
  }
  return input;
}

void PackFloat32(const Tensor& in, const Panel& panel, float* out) {
  const int64_t cols = in.dim(1);
  for (int64_t r = 0; r < panel.rows; ++r) {
    const float* x = in.Row<float>(panel.first_row + r);
    for (int64_t k = 0; k < cols; ++k) out[k * panel.height + r] = x[k];
  }
}

// One panel into `place`.
void PackPanel(const Tensor& in, Packing packing, const MatMulKernels& kernels, const Panel& panel,
               uint8_t* place) {
  const int64_t cols = in.dim(1);
  if (panel.rows < panel.height) {
    std::memset(place, 0, static_cast<size_t>(PanelBytes(packing, cols, panel.height)));
  }
  if (packing == kFloat32) return PackFloat32(in, panel, reinterpret_cast<float*>(place));
  const bool by16 = packing == kInt8By16;
  const QuantiseRowFn quantise = by16 ? kernels.quantise_row_16 : kernels.quantise_row;
  for (int64_t r = 0; r < panel.rows; ++r) {
    quantise(in.Row<float>(panel.first_row + r), cols / (by16 ? 16 : 32), panel.height, r, place);
  }
}

// Gives every panel its data in `memory`.
void Pack(CpuStream& stream, const Tensor& in, Packing packing, const MatMulKernels& kernels,
          uint8_t* memory, PackedInput& input) {
  const int64_t cols = in.dim(1);
  std::vector<uint8_t*> places;
  places.reserve(input.panels.size());
  for (Panel& panel : input.panels) {
    const bool in_place = packing == kFloat32 && panel.height == 1;
    places.push_back(in_place ? nullptr : memory);
    panel.data = in_place ? in.Row<uint8_t>(0) + panel.first_row * in.stride[0] * 4 : memory;
    memory += PanelBytes(packing, cols, panel.height);
  }
  const auto pack = [&](int64_t p, int) {
    uint8_t* place = places[static_cast<size_t>(p)];
    if (place == nullptr) return;
    PackPanel(in, packing, kernels, input.panels[static_cast<size_t>(p)], place);
  };
  const auto count = static_cast<int64_t>(input.panels.size());
  if (in.dim(0) * cols < kSerialPackElements) {
    for (int64_t p = 0; p < count; ++p) pack(p, 0);
  } else {
    stream.pool().ParallelFor(count, pack);
  }
}

// One op: what its tasks share.
struct Job {
  const CpuMatrix& weight;
  const MatMulKernels& kernels;
  Isa isa;
  PackedInput inputs[kPackings] = {};
  Tensor out;
  MatMulResult result;

  const PackedInput& InputOf(const PreparedPart& part) const { return inputs[PackingOf(part)]; }
};

// Tiles [first, end) of one part.
void RunTiles(const Job& job, const PreparedPart& part, int64_t first, int64_t end,
              uint8_t* scratch) {
  const auto format = static_cast<size_t>(part.format);
  const bool int8 = part.activation == Activation::kI8;
  const PackedInput& input = job.InputOf(part);
  MatMulArgs args{
      .tiles = part.weights.data(),
      .tile_bytes = part.tile_bytes,
      .first_tile = first,
      .end_tile = end,
      .outputs = part.outputs,
      .cols = job.weight.cols(),
      .leaves = job.weight.leaves().data(),
      .leaf_count = static_cast<int64_t>(job.weight.leaves().size()),
      .panels = input.panels.data(),
      .panel_count = input.amx_panels,
      .out = job.out.Data<float>() + part.first_output,
      .out_stride = job.out.stride[0],
      .bias = reinterpret_cast<const float*>(part.bias.data()),
      .accumulate = job.result == MatMulResult::kAccumulate,
      .scratch = scratch,
  };
  if (args.panel_count > 0) amx::kMatMulKernels[format](args);
  args.panels += input.amx_panels;
  args.panel_count = static_cast<int64_t>(input.panels.size()) - input.amx_panels;
  if (args.panel_count > 0) (int8 ? job.kernels.int8 : job.kernels.float32)[format](args);
}

void CountVariants(const Job& job) {
  const auto vectors = static_cast<size_t>(std::min(job.isa, Isa::kAvx512));
  for (const PreparedPart& part : job.weight.parts()) {
    const auto format = static_cast<size_t>(part.format);
    if (part.activation == Activation::kF32) {
      CountVariant(float32_counters[vectors][format]);
      continue;
    }
    const PackedInput& input = job.InputOf(part);
    const auto amx_panels = static_cast<size_t>(input.amx_panels);
    if (amx_panels > 0) CountVariant(int8_counters[static_cast<size_t>(Isa::kAmx)][format]);
    if (amx_panels < input.panels.size()) CountVariant(int8_counters[vectors][format]);
  }
}

// Spreads all tiles of all parts over the threads.
void RunAllTiles(CpuStream& stream, const Job& job) {
  int64_t tiles = 0;
  for (const PreparedPart& part : job.weight.parts()) tiles += part.tiles;
  const int threads = stream.pool().threads();
  const int64_t pieces = threads * kTasksPerThread;
  // Even, since some kernels take two tiles at a time.
  const int64_t chunk = threads == 1 ? tiles : std::max(tiles / pieces / 2 * 2, int64_t{2});
  const int64_t scratch_bytes =
      MatMulScratchBytes(job.weight.cols(), static_cast<int64_t>(job.weight.leaves().size()));
  stream.pool().ParallelFor((tiles + chunk - 1) / chunk, [&](int64_t task, int thread) {
    uint8_t* scratch = stream.thread_scratch(thread).Get(scratch_bytes);
    int64_t part_begin = 0;
    for (const PreparedPart& part : job.weight.parts()) {
      const int64_t first = std::max(task * chunk - part_begin, int64_t{0});
      const int64_t end = std::min((task + 1) * chunk - part_begin, part.tiles);
      if (first < end) RunTiles(job, part, first, end, scratch);
      part_begin += part.tiles;
    }
  });
}

}  // namespace

void MatMul(CpuStream& stream, const Tensor& in, const CpuMatrix& weight, const Tensor& out,
            MatMulResult result) {
  SHOAL_CHECK(in.rank == 2);
  SHOAL_CHECK(out.rank == 2);
  SHOAL_CHECK(in.dtype == DType::kF32);
  SHOAL_CHECK(out.dtype == DType::kF32);
  SHOAL_CHECK(in.dim(0) == out.dim(0));
  SHOAL_CHECK(in.dim(1) == weight.cols());
  SHOAL_CHECK(out.dim(1) == weight.rows());
  const int64_t rows = in.dim(0);
  if (rows == 0) return;
  const ScopedFloatMode mode;
  const MatMulKernels& kernels = KernelsOf(stream.isa());
  Job job{.weight = weight, .kernels = kernels, .isa = stream.isa(), .out = out, .result = result};
  int64_t bytes[kPackings] = {};
  for (const PreparedPart& part : weight.parts()) {
    const Packing packing = PackingOf(part);
    PackedInput& input = job.inputs[packing];
    if (!input.panels.empty()) continue;
    const bool int8 = packing != kFloat32;
    input = CutIntoPanels(rows, int8 ? kernels.int8_height : kernels.float32_height,
                          int8 && stream.isa() == Isa::kAmx);
    for (const Panel& p : input.panels) bytes[packing] += PanelBytes(packing, in.dim(1), p.height);
  }
  uint8_t* memory = stream.shared_scratch().Get(bytes[0] + bytes[1] + bytes[2]);
  for (const Packing packing : {kFloat32, kInt8By32, kInt8By16}) {
    Pack(stream, in, packing, kernels, memory, job.inputs[packing]);
    memory += bytes[packing];
  }
  CountVariants(job);
  RunAllTiles(stream, job);
}

}  // namespace shoal::kernels::cpu
