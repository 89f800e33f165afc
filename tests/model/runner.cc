// SPDX-License-Identifier: Apache-2.0
#include "model/runner.h"

#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <numeric>
#include <random>
#include <utility>

#include "base/check.h"

namespace shoal::model::testing {
namespace {

[[noreturn]] void Fail(const absl::Status& status) {
  std::fprintf(stderr, "%s\n", status.ToString().c_str());
  std::abort();
}

template <typename T>
T OrDie(absl::StatusOr<T> result) {
  if (!result.ok()) Fail(result.status());
  return *std::move(result);
}

}  // namespace

RunnerOptions Float32Options(int64_t max_batch_tokens) {
  RunnerOptions options;
  options.decoder.max_batch_tokens = max_batch_tokens;
  options.decoder.numerics.activation = kernels::Activation::kF32;
  options.decoder.numerics.kv_dtype = kernels::DType::kF32;
  return options;
}

Runner::Runner(const std::string& model_path, const RunnerOptions& options) : options_(options) {
  backend_ = OrDie(kernels::CreateBackend(options.backend));
  stream_ = OrDie(backend_->CreateStream({.threads = options.threads}));
  group_ = parallel::CreateSingleRankCommunicator();
  file_ = OrDie(OpenModel(model_path));
  decoder_ = OrDie(file_->CreateDecoder(*backend_, *group_, options.decoder));
  for (const KvGroup& group : file_->spec().kv_groups) {
    kernels::KvPool pool;
    pool.layout = {.block_tokens = options.block_tokens,
                   .kv_heads = group.kv_heads,
                   .layers = static_cast<int64_t>(group.layers.size()),
                   .head_dim = group.head_dim,
                   .dtype = options.decoder.numerics.kv_dtype};
    pool.blocks = options.blocks;
    pool_bytes_.push_back(
        OrDie(backend_->Allocate("kv", options.blocks * pool.layout.BlockBytes())));
    pool.base = pool_bytes_.back()->data();
    // Stale bytes must never matter: NaN in both dtypes.
    std::fill_n(pool.base, pool_bytes_.back()->bytes(), uint8_t{0xFF});
    pools_.push_back(pool);
  }
  free_blocks_.resize(static_cast<size_t>(options.blocks));
  std::iota(free_blocks_.rbegin(), free_blocks_.rend(), 0);
  if (options.scatter_seed != 0) {
    std::mt19937 random(options.scatter_seed);
    std::shuffle(free_blocks_.begin(), free_blocks_.end(), random);
  }
}

Runner::Sequence& Runner::Grow(int32_t number, int64_t tokens) {
  if (static_cast<size_t>(number) >= sequences_.size()) {
    sequences_.resize(static_cast<size_t>(number) + 1);
  }
  Sequence& sequence = sequences_[static_cast<size_t>(number)];
  while (static_cast<int64_t>(sequence.blocks.size()) * options_.block_tokens <
         sequence.length + tokens) {
    SHOAL_CHECK(!free_blocks_.empty());
    sequence.blocks.push_back(free_blocks_.back());
    free_blocks_.pop_back();
  }
  return sequence;
}

std::vector<Row> Runner::Step(const std::vector<Slice>& slices) {
  std::vector<int32_t> tokens;
  std::vector<int32_t> positions;
  std::vector<int32_t> logits_rows;
  for (const Slice& slice : slices) Grow(slice.sequence, static_cast<int64_t>(slice.tokens.size()));
  kernels::AttentionBatch batch;
  for (const Slice& slice : slices) {
    Sequence& sequence = sequences_[static_cast<size_t>(slice.sequence)];
    const auto rows = static_cast<int64_t>(slice.tokens.size());
    batch.sequences.push_back({.first_row = static_cast<int64_t>(tokens.size()),
                               .rows = rows,
                               .first_position = sequence.length,
                               .block_table = sequence.blocks});
    for (int64_t i = 0; i < rows; ++i) {
      if (slice.all_logits || i == rows - 1) {
        logits_rows.push_back(static_cast<int32_t>(tokens.size()));
      }
      tokens.push_back(slice.tokens[static_cast<size_t>(i)]);
      positions.push_back(static_cast<int32_t>(sequence.length + i));
    }
    sequence.length += rows;
  }
  batch.rows = static_cast<int64_t>(tokens.size());
  // The groups have equally many blocks and share the tables: ids are per pool.
  const std::vector<kernels::AttentionBatch> batches(pools_.size(), batch);
  const auto logits = decoder_->Forward(*stream_, {.tokens = tokens,
                                                   .positions = positions,
                                                   .batches = batches,
                                                   .pools = pools_,
                                                   .logits_rows = logits_rows});
  if (!logits.ok()) Fail(logits.status());
  if (const absl::Status status = stream_->Synchronize(); !status.ok()) Fail(status);
  std::vector<Row> rows;
  for (int64_t i = 0; i < logits->dim(0); ++i) {
    const auto* begin = logits->Row<float>(i);
    rows.emplace_back(begin, begin + logits->dim(1));
  }
  return rows;
}

std::vector<Row> Runner::Prefill(int32_t sequence, const std::vector<int32_t>& tokens,
                                 int64_t chunk) {
  std::vector<Row> all;
  for (size_t begin = 0; begin < tokens.size(); begin += static_cast<size_t>(chunk)) {
    const size_t end = std::min(tokens.size(), begin + static_cast<size_t>(chunk));
    Slice slice{.sequence = sequence,
                .tokens = {tokens.begin() + static_cast<ptrdiff_t>(begin),
                           tokens.begin() + static_cast<ptrdiff_t>(end)},
                .all_logits = true};
    for (Row& row : Step({slice})) all.push_back(std::move(row));
  }
  return all;
}

int32_t ArgMax(const Row& row) {
  return static_cast<int32_t>(std::max_element(row.begin(), row.end()) - row.begin());
}

}  // namespace shoal::model::testing
